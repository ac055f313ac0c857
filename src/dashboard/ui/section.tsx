// A part of a page with its title, alone or with the result of a query.
import type { JSX, ReactNode } from 'react';
import { QueryResult, type QueryResultProps } from './query-result.tsx';

interface Title {
  readonly title: ReactNode;
  /** Accessible name; true: the title. Absent: the section is no landmark. */
  readonly label?: string | true;
}

export const Section = ({
  title,
  label,
  children,
}: Title & { readonly children: ReactNode }): JSX.Element => (
  <section className="form" aria-label={label === true ? String(title) : label}>
    <h2>{title}</h2>
    {children}
  </section>
);

export const QuerySection = <T,>({ title, label, ...result }: Title & QueryResultProps<T>): JSX.Element => (
  <Section title={title} {...(label === undefined ? {} : { label })}>
    <QueryResult {...result} />
  </Section>
);
