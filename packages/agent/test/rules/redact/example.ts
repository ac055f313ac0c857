// A text that a pattern of a token matches, made from the pattern: groups, sets, classes, bounds, literals.

/** The shortest text that fits: the first way of each choice, and the least of each repetition. */
export function example(pattern: string): string {
  let at = 0;
  /** Draws differ, so that no text is one letter repeated. */
  let drawn = 0;

  const choice = (): string => {
    const ways = [sequence()];
    while (pattern[at] === '|') {
      at++;
      ways.push(sequence());
    }
    return ways[0] ?? '';
  };
  const sequence = (): string => {
    let text = '';
    while (at < pattern.length && pattern[at] !== '|' && pattern[at] !== ')') text += repeated();
    return text;
  };
  const repeated = (): string => {
    const begin = at;
    let text = atom();
    const end = at;
    const [bounds = '', least] = /^(?:\{(\d+)(?:,\d*)?\}|[?*+])\??/.exec(pattern.slice(at)) ?? [];
    at += bounds.length;
    const after = at;
    if (bounds === '') return text;
    const count = least === undefined ? (bounds[0] === '+' ? 1 : 0) : Number(least);
    if (count === 0) return '';
    for (let i = 1; i < count; i++) {
      at = begin;
      text += atom();
      if (at !== end) throw new Error('an atom has one length');
    }
    at = after;
    return text;
  };
  const atom = (): string => {
    const rest = pattern.slice(at);
    if (/^\(\?(?:[=!]|<[=!])/.test(rest)) {
      const isBehind = rest.startsWith('(?<=');
      at += rest.indexOf(rest[2] === '<' ? (rest[3] as string) : (rest[2] as string)) + 1;
      const text = choice();
      at++;
      return isBehind ? text : '';
    }
    if (rest[0] === '(') {
      at += rest.startsWith('(?:') ? 3 : 1;
      const text = choice();
      at++;
      return text;
    }
    if (rest[0] === '[') {
      const [set = ''] = /^\[(?:\\.|[^\]\\])*\]/.exec(rest) ?? [];
      at += set.length;
      return member(new RegExp(set));
    }
    if (rest[0] === '$') {
      at++;
      return '';
    }
    if (rest[0] === '\\') {
      at += 2;
      return /[dws]/i.test(rest[1] as string) ? member(new RegExp(rest.slice(0, 2))) : (rest[1] as string);
    }
    at++;
    return rest[0] as string;
  };
  const member = (set: RegExp): string => {
    const open = [...'a7Bc3De9fG2hJ5kLm8Np4QrS6tVw1XyZ0bCdEgHiIjKlMnoOPqRsTuUvWxYz', '-', ' ', '/'].filter(
      (char) => set.test(char),
    );
    drawn += 7;
    return open[drawn % open.length] ?? '';
  };
  return choice();
}
