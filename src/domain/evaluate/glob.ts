// Globs of tool names and agent ids (fnmatch): `*` any run, `?` one character, `[seq]`, `[!seq]`; whole text, case-sensitive. Linear in practice:
// a `*` remembers only its last place.

/** One pattern character against one text character: where the pattern goes on, or -1. */
function step(pattern: readonly string[], at: number, char: string): number {
  const p = pattern[at];
  if (p === '?') return at + 1;
  if (p === '[') {
    let end = at + 1;
    if (pattern[end] === '!') end++;
    if (pattern[end] === ']') end++;
    while (end < pattern.length && pattern[end] !== ']') end++;
    if (end < pattern.length) {
      const negated = pattern[at + 1] === '!';
      return inSet(pattern.slice(at + (negated ? 2 : 1), end), char) !== negated ? end + 1 : -1;
    }
  }
  return p === char ? at + 1 : -1;
}

function inSet(set: readonly string[], char: string): boolean {
  for (let i = 0; i < set.length; i++) {
    const low = set[i] ?? '';
    const high = set[i + 1] === '-' ? set[i + 2] : undefined;
    if (high !== undefined) {
      if (low <= char && char <= high) return true;
      i += 2;
    } else if (low === char) return true;
  }
  return false;
}

/** True when the whole text fits the pattern. */
export function globMatch(pattern: string, text: string): boolean {
  const p = [...pattern];
  const t = [...text];
  let at = 0;
  let star = -1;
  let mark = 0;
  for (let i = 0; i < t.length; ) {
    if (p[at] === '*') {
      star = ++at;
      mark = i;
      continue;
    }
    const next = at < p.length ? step(p, at, t[i] ?? '') : -1;
    if (next !== -1) {
      at = next;
      i++;
    } else if (star !== -1) {
      at = star;
      i = ++mark;
    } else return false;
  }
  while (p[at] === '*') at++;
  return at === p.length;
}
