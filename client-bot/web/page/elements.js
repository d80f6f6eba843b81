// Elements of the page. All text is set as text.

export const find = (id) => document.getElementById(id);

export function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

/** Lets a place have these children. Those that it has stay, so that they can be pressed meanwhile. */
export function show(place, children) {
  children.forEach((child, at) => {
    const old = place.children[at];
    if (!old) place.append(child);
    else if (!old.isEqualNode(child)) old.replaceWith(child);
  });
  while (place.children.length > children.length) place.lastElementChild.remove();
}
