// The text of one contract in a document.

/**
 * The lines of the entry with this id in a YAML list, without their common indentation.
 * @returns null if the document has no such entry
 */
export function contractLines(yaml: string, id: string): string | null {
  const lines = yaml.split('\n');
  const unquoted = (text: string): string => text.trim().replace(/^(["'])(.*)\1$/, '$2');
  const isNamed = (line: string): boolean => {
    const idMatch = /^\s*(?:-\s+)?id:\s*(.*?)\s*(?:\s#.*)?$/.exec(line);
    return idMatch !== null && unquoted(idMatch[1] ?? '') === id;
  };
  const indentOf = (line: string): number => line.length - line.trimStart().length;
  for (const [at, line] of lines.entries()) {
    if (!isNamed(line)) continue;
    let first = at;
    const own = indentOf(line);
    // If the id is not the first key, the entry starts at the dash above.
    while (first >= 0 && !/^\s*-\s/.test(lines[first] ?? '')) first -= 1;
    const start = lines[first];
    if (start === undefined || (first !== at && indentOf(start) >= own)) continue;
    const indent = indentOf(start);
    let end = first + 1;
    const isInside = (next: string): boolean => next.trim() === '' || indentOf(next) > indent;
    while (end < lines.length && isInside(lines[end] ?? '')) end += 1;
    const entry = lines.slice(first, end).map((one) => one.slice(indent));
    return entry.join('\n').trimEnd();
  }
  return null;
}
