// JSON of one shape and of about one size, for tests of what a body costs. The same on every run.

/**
 * `wide`: an object of many small members. `deep`: many chains of lists and mappings. `abyss`: one chain, deeper than
 * any body may be. `long`: one text. `texts`: an object of texts that are longer than a name. `mixed`: records of all
 * of these, with numbers that a double cannot hold. `words`, `records`: lists of short texts and of small objects.
 */
export const shapes = ['wide', 'deep', 'abyss', 'long', 'texts', 'mixed', 'words', 'records'] as const;
export type Shape = (typeof shapes)[number];

/** Levels of a chain that still fits where bodies wrap it. */
const chainDepth = 50;
const chain = `${'{"a":['.repeat(chainDepth / 2)}0${']}'.repeat(chainDepth / 2)}`;
const lists: ReadonlySet<Shape> = new Set(['deep', 'words', 'records']);
const pieces: { readonly [S in Shape]?: (i: number) => string } = {
  wide: (i) => `"field${i}":${i % 10}`,
  deep: () => chain,
  texts: (i) => `"text${i}":"${'lorem ipsum \\n é '.repeat(40)}"`,
  mixed: (i) =>
    `"record${i}":{"id":1234567890123456789${i % 10},"text":"a \\"quoted\\" text, ${i}","on":true,"part":[1.5,null,` +
    `{"path":"/srv/data/${i}.txt","mode":"rw"}],"note":"${'ünïcode '.repeat(i % 40)}"}`,
  words: (i) => `"word${i}"`,
  records: (i) => `{"id":"record${i}","value":${i}}`,
};

/** JSON text of the shape, no larger than so many bytes and nearly as large. */
export function materialOf(shape: Shape, bytes: number): string {
  const piece = pieces[shape];
  if (shape === 'long') return `"${'a text with an escape\\n, '.repeat(Math.floor((bytes - 2) / 25))}"`;
  if (!piece) return `${'['.repeat(bytes / 2)}${']'.repeat(bytes / 2)}`;
  const parts: string[] = [];
  for (let i = 0, left = bytes - 2; ; i++) {
    const part = piece(i);
    left -= Buffer.byteLength(part) + 1;
    if (left < 0) break;
    parts.push(part);
  }
  const text = parts.join(',');
  return lists.has(shape) ? `[${text}]` : `{${text}}`;
}
