// The search field of every page: "/" goes there, answers come as one types, arrows choose and Enter opens.
// Without scripts the form opens the page of the search.
(() => {
  const field = document.getElementById("find");
  if (!field) return;
  const list = document.getElementById("find-list");
  const said = document.getElementById("find-said");
  const rest = 150;
  let timer = 0;
  let asking = null;
  let chosen = -1;

  const options = () => [...list.querySelectorAll("[role=option]")];

  const close = () => {
    list.hidden = true;
    chosen = -1;
    field.setAttribute("aria-expanded", "false");
    field.removeAttribute("aria-activedescendant");
  };

  const choose = (place) => {
    const all = options();
    if (!all.length) return;
    chosen = (place + all.length) % all.length;
    all.forEach((one, index) => one.setAttribute("aria-selected", String(index === chosen)));
    field.setAttribute("aria-activedescendant", all[chosen].id);
    all[chosen].scrollIntoView({ block: "nearest" });
  };

  const ask = async () => {
    asking?.abort();
    const text = field.value.trim();
    if (!text) return close();
    asking = new AbortController();
    try {
      const address = `${field.form.action}?${new URLSearchParams({ q: text, part: "1" })}`;
      const answer = await fetch(address, { signal: asking.signal });
      if (!answer.ok || answer.redirected) return close();
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const sentence = page.querySelector("[data-said]")?.textContent ?? "";
      list.replaceChildren(...page.querySelectorAll("[role=group]"));
      said.textContent = sentence;
      list.hidden = !options().length;
      chosen = -1;
      field.setAttribute("aria-expanded", String(!list.hidden));
      field.removeAttribute("aria-activedescendant");
    } catch (error) {
      if (error.name !== "AbortError") close();
    }
  };

  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(ask, rest);
  });

  field.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !list.hidden) {
      close();
      event.preventDefault();
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      if (list.hidden) return;
      choose(event.key === "ArrowDown" ? chosen + 1 : Math.max(chosen, 0) - 1);
      event.preventDefault();
    } else if (event.key === "Enter" && chosen >= 0) {
      options()[chosen].click();
      event.preventDefault();
    }
  });

  document.addEventListener("click", (event) => {
    if (!field.form.contains(event.target)) close();
  });

  document.addEventListener("keydown", (event) => {
    const isTyping = event.target.closest?.("input, textarea, select, [contenteditable]");
    if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    field.focus();
    field.select();
    event.preventDefault();
  });
})();
