// Untrusted texts in their usual places: as the link to a thing's page, and as a paragraph.
import { Link } from '@tanstack/react-router';
import type { JSX } from 'react';
import type { ThingLink } from '../lib/address.ts';
import { Data, type DataProps, Name } from './parts.tsx';

/** The name of a thing in a sentence, which leads to its page. */
export const DataLink = ({ link, ...name }: DataProps & { readonly link: ThingLink }): JSX.Element => (
  <Link {...link}>
    <Data {...name} />
  </Link>
);

/** The name of a thing in one line, which leads to its page. */
export const NameLink = ({ link, text }: Readonly<{ link: ThingLink; text: string }>): JSX.Element => (
  <Link {...link}>
    <Name text={text} />
  </Link>
);

/** A text as a paragraph; nothing without a text. */
export const DataParagraph = ({
  className,
  text,
  ...rest
}: Omit<DataProps, 'text'> &
  Readonly<{ text: string | null | undefined; className?: string }>): JSX.Element | null =>
  text ? (
    <p className={className}>
      <Data text={text} {...rest} />
    </p>
  ) : null;
