// Displays a model's text: headings, lists, tables, code, emphasis. HTML, links and images stay plain text, and the
// page makes its own elements from the parsed tokens.
import MarkdownIt, { type Token } from 'markdown-it';
import { createElement, Fragment, type JSX, type ReactNode } from 'react';
import { visible } from '../lib/text.ts';

const parser = new MarkdownIt({ html: false }).disable(['autolink', 'image', 'link', 'reference']);

/** Elements as they are; headings of an answer are no headings of the page. */
const tags: ReadonlySet<string> = new Set([
  ...['blockquote', 'em', 'hr', 'li', 'ol', 'p', 's', 'strong', 'ul'],
  ...['table', 'tbody', 'td', 'th', 'thead', 'tr'],
]);

export const Markdown = ({ text }: { readonly text: string }): JSX.Element => (
  <div className="markdown">{elementsOf(parser.parse(text, {}))}</div>
);

/** The content between the tags of an element. */
interface Content {
  readonly tag: string;
  readonly isHidden: boolean;
  readonly children: ReactNode[];
}

function elementsOf(tokens: readonly Token[]): readonly ReactNode[] {
  const root: ReactNode[] = [];
  const open: Content[] = [];
  const add = (node: ReactNode): void => void (open.at(-1)?.children ?? root).push(node);
  for (const [key, token] of tokens.entries()) {
    if (token.nesting === 1) open.push({ tag: token.tag, isHidden: token.hidden, children: [] });
    else if (token.nesting === 0) add(leafOf(token, key));
    else {
      const content = open.pop();
      if (content) add(elementOf(content, key));
    }
  }
  return root;
}

function elementOf({ tag, isHidden, children }: Content, key: number): ReactNode {
  if (isHidden) return createElement(Fragment, { key }, ...children);
  if (/^h[1-6]$/.test(tag)) return createElement('p', { key, className: 'markdown-heading' }, ...children);
  return createElement(tags.has(tag) ? tag : Fragment, { key }, ...children);
}

function leafOf({ type, content, children }: Token, key: number): ReactNode {
  switch (type) {
    case 'inline':
      return (
        <bdi key={key} className="data data-prose">
          {elementsOf(children ?? [])}
        </bdi>
      );
    case 'fence':
    case 'code_block':
      return (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards scroll it
        <pre key={key} className="code" tabIndex={0}>
          <bdi className="data">{visible(content.replace(/\n$/, ''))}</bdi>
        </pre>
      );
    case 'code_inline':
      return (
        <code key={key} className="data">
          {visible(content)}
        </code>
      );
    case 'hr':
      return <hr key={key} />;
    case 'softbreak':
    case 'hardbreak':
      return '\n';
    default:
      return visible(content);
  }
}
