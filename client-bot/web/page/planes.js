// Planes: worlds within the world. Only the one that the player is in is shown. No state, and nothing of
// the page.

/** The plane that a place is in, or counts as in: `{ number, name, copy, low, high }`, in units. */
export function planeAt({ size: [width, height = width], planes }, [x, y]) {
  const world = { number: 0, name: null, copy: 0, low: [0, 0], high: planes?.size ?? [width, height] };
  if (!planes) return world;
  const half = planes.gap / 2;
  let [number, found] = [1, null];
  for (const group of planes.groups) {
    if (y >= group.low - half) found = { group, number };
    number += group.copies;
  }
  if (!found) return world;
  const { name, size, copies, columns, stride, low } = found.group;
  const along = (from, axis, count) => Math.min(Math.floor((Math.max(from, 0) + half) / stride[axis]), count - 1);
  const cell = along(y - low, 1, Math.ceil(copies / columns)) * columns + along(x, 0, columns);
  const copy = Math.min(cell, copies - 1);
  const corner = [(copy % columns) * stride[0], low + Math.floor(copy / columns) * stride[1]];
  return { number: found.number + copy, name, copy, low: corner, high: [corner[0] + size[0], corner[1] + size[1]] };
}
