// A page that waits for something replaces itself with its next state; without scripts it is loaded again.
async function look() {
  const answer = await fetch(location.href, { headers: { Accept: "text/html" } }).catch(() => null);
  if (!answer || !answer.ok) return setTimeout(look, 2000);
  const next = new DOMParser().parseFromString(await answer.text(), "text/html");
  const [now, later] = [document, next].map((page) => page.querySelector("[data-live]"));
  if (now && later) {
    if (now.innerHTML !== later.innerHTML) now.innerHTML = later.innerHTML;
    return setTimeout(look, 700);
  }
  document.querySelector("main").replaceWith(next.querySelector("main"));
}
if (document.querySelector("[data-live]")) setTimeout(look, 700);
