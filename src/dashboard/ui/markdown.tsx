// Displays a model's text. lib/markdown.ts lists the supported Markdown.
import type { JSX } from 'react';
import { blocksOf, type Inline } from '../lib/markdown.ts';
import { visible } from '../lib/text.ts';

export const Markdown = ({ text }: { readonly text: string }): JSX.Element => (
  <div className="markdown">
    {blocksOf(text).map((block, at) => {
      const key = `${at}`;
      if (block.kind === 'code') {
        return (
          // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards scroll it
          <pre key={key} className="code" tabIndex={0}>
            <bdi className="data">{visible(block.text)}</bdi>
          </pre>
        );
      }
      if (block.kind === 'heading') {
        return (
          <p key={key} className="markdown-heading">
            <Parts parts={block.parts} />
          </p>
        );
      }
      if (block.kind === 'paragraph') {
        return (
          <p key={key}>
            <Parts parts={block.parts} />
          </p>
        );
      }
      const items = block.items.map((parts, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: items have no other name
        <li key={index}>
          <Parts parts={parts} />
        </li>
      ));
      return block.ordered ? <ol key={key}>{items}</ol> : <ul key={key}>{items}</ul>;
    })}
  </div>
);

const Parts = ({ parts }: { readonly parts: readonly Inline[] }): JSX.Element => (
  <bdi className="data data-prose">
    {parts.map(([kind, text], at) => {
      const key = `${at}`;
      if (kind === 'code') {
        return (
          <code key={key} className="data">
            {visible(text)}
          </code>
        );
      }
      if (kind === 'strong') return <strong key={key}>{visible(text)}</strong>;
      if (kind === 'em') return <em key={key}>{visible(text)}</em>;
      return visible(text);
    })}
  </bdi>
);
