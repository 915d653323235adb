// The report of a study: the slider moves along the lines of the path; every sentence is ready in the island.
const lines = JSON.parse(document.getElementById("data").textContent);
const rows = new Map([...document.querySelectorAll("#lines tbody tr")].map((row) => [Number(row.dataset.line), row]));
const slider = document.getElementById("slider");

function showLine() {
  const index = lines.at[Number(slider.value)];
  document.getElementById("now").textContent = lines.words[index];
  slider.setAttribute("aria-valuetext", lines.words[index]);
  for (const [line, row] of rows) row.classList.toggle("here", line === index);
}

slider.max = lines.at.length - 1;
slider.value = lines.start;
slider.addEventListener("input", showLine);
document.getElementById("back").addEventListener("click", () => { slider.value = lines.start; showLine(); });
document.getElementById("line-control").hidden = false;
showLine();
