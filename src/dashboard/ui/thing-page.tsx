// The page of one thing: its kind and name as the heading, and the way back to its list.
import { Link, useParams } from '@tanstack/react-router';
import type { ComponentType, JSX, ReactNode } from 'react';
import { idOf } from '../lib/address.ts';
import { middleCut, visible } from '../lib/text.ts';
import { PageHead } from './parts.tsx';

/** The ids in the path, without the replacement of `.` and `..`. */
export function useIds<N extends string>(...names: readonly N[]): { readonly [Name in N]: string } {
  const params = useParams({ strict: false }) as { readonly [name: string]: string | undefined };
  return Object.fromEntries(names.map((name) => [name, idOf(params[name] ?? '')])) as never;
}

export interface ThingPageProps {
  /** `Contract`, `Run`: also the beginning of the accessible name. */
  readonly kind: string;
  readonly name: string;
  readonly back: { readonly to: string; readonly view?: string; readonly label: string };
  readonly children: ReactNode;
}

export function ThingPage({ kind, name, back, children }: ThingPageProps): JSX.Element {
  const title = `${kind} ${middleCut(visible(name), 120)}`;
  return (
    <section className="page thing-page" aria-label={title}>
      <PageHead title={title}>
        <Link to={back.to} search={(back.view ? { view: back.view } : {}) as never}>
          {back.label}
        </Link>
      </PageHead>
      {children}
    </section>
  );
}

/** The page of a thing with one id, which `Content` shows. */
export function thingPage(
  kind: string,
  back: ThingPageProps['back'],
  Content: ComponentType<{ readonly id: string }>,
): () => JSX.Element {
  return () => {
    const { id } = useIds('id');
    return (
      <ThingPage kind={kind} name={id} back={back}>
        <Content key={id} id={id} />
      </ThingPage>
    );
  };
}
