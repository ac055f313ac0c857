// Parses a model's text as plain Markdown: headings, lists, code, emphasis. HTML, links and images stay plain text.

export type Inline = readonly [kind: 'text' | 'code' | 'strong' | 'em', text: string];

export type Block =
  | { readonly kind: 'paragraph'; readonly parts: readonly Inline[] }
  | { readonly kind: 'heading'; readonly parts: readonly Inline[] }
  | { readonly kind: 'list'; readonly ordered: boolean; readonly items: readonly (readonly Inline[])[] }
  | { readonly kind: 'code'; readonly text: string };

const marks =
  /`([^`\n]{1,500})`|\*\*(?=\S)([^\n]{1,500}?)(?<=\S)\*\*|(?<![\w*])\*(?=\S)([^*\n]{1,500}?)(?<=\S)\*(?![\w*])/g;

export function inlineOf(text: string): readonly Inline[] {
  const parts: Inline[] = [];
  let end = 0;
  for (const match of text.matchAll(marks)) {
    const [all, code, strong, em] = match;
    if (match.index > end) parts.push(['text', text.slice(end, match.index)]);
    if (code !== undefined) parts.push(['code', code]);
    else if (strong !== undefined) parts.push(['strong', strong]);
    else parts.push(['em', em ?? '']);
    end = match.index + all.length;
  }
  if (end < text.length) parts.push(['text', text.slice(end)]);
  return parts;
}

const item = /^\s*(?:([-*+])|\d{1,3}[.)])\s+(.*)$/;

/** An unfinished code block counts as a code block, because answers arrive in pieces. */
export function blocksOf(text: string): readonly Block[] {
  const blocks: Block[] = [];
  const lines = text.split('\n');
  let paragraph: string[] = [];
  const flush = (): void => {
    if (paragraph.length > 0) blocks.push({ kind: 'paragraph', parts: inlineOf(paragraph.join('\n')) });
    paragraph = [];
  };
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? '';
    const listItem = item.exec(line);
    const heading = /^#{1,6}\s+(.*)$/.exec(line);
    if (/^\s*```/.test(line)) {
      flush();
      const from = at + 1;
      at = from;
      while (at < lines.length && !/^\s*```\s*$/.test(lines[at] ?? '')) at += 1;
      blocks.push({ kind: 'code', text: lines.slice(from, at).join('\n') });
    } else if (heading) {
      flush();
      blocks.push({ kind: 'heading', parts: inlineOf(heading[1] ?? '') });
    } else if (listItem) {
      flush();
      const ordered = listItem[1] === undefined;
      const items: (readonly Inline[])[] = [];
      for (let next = item.exec(lines[at] ?? ''); next; next = item.exec(lines[at] ?? '')) {
        if ((next[1] === undefined) !== ordered) break;
        items.push(inlineOf(next[2] ?? ''));
        at += 1;
      }
      at -= 1;
      blocks.push({ kind: 'list', ordered, items });
    } else if (line.trim() === '') flush();
    else paragraph.push(line);
  }
  flush();
  return blocks;
}
