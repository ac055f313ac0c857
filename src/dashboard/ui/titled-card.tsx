// A card with a title, which is also its accessible name.
import type { JSX, ReactNode } from 'react';

export const TitledCard = ({
  title,
  children,
}: Readonly<{ title: string; children: ReactNode }>): JSX.Element => (
  <section className="card" aria-label={title}>
    <h2>{title}</h2>
    {children}
  </section>
);
