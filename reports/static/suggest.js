// Suggestions of the search for a field that names one thing. Without scripts the field takes the same words.
for (const field of document.querySelectorAll("input[data-suggest]")) {
  const list = document.getElementById(field.getAttribute("list"));
  const rest = 150;
  let timer = 0;
  let asking = null;

  const toOption = (found) => {
    const name = found.querySelector("strong").textContent;
    return new Option(found.textContent.replace(name, "").replace(/\s+/g, " ").trim(), name);
  };

  const ask = async () => {
    asking?.abort();
    const text = field.value.trim();
    if (!text) return list.replaceChildren();
    asking = new AbortController();
    try {
      const answer = await fetch(`${field.dataset.suggest}&${new URLSearchParams({ q: text })}`, { signal: asking.signal });
      if (!answer.ok || answer.redirected) return list.replaceChildren();
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      list.replaceChildren(...[...page.querySelectorAll("[role=option]")].map(toOption));
    } catch (error) {
      if (error.name !== "AbortError") list.replaceChildren();
    }
  };

  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(ask, rest);
  });
}
