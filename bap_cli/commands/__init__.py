"""The commands of `bap` about finite problems, one file each."""
