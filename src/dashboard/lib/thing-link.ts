// The thing that a page shows beside its list, such as the row in a peek. Its own page is what *Copy link* copies.
import { useRouter } from '@tanstack/react-router';
import { useEffect } from 'react';
import type { ThingLink } from './address.ts';
import { createStore } from './store.ts';

/** Path and query of the thing's page; null while the page shows no thing but its own. */
const path = createStore<string | null>(null);

/** @param link undefined if the thing has no page */
export function useThingLink(link: ThingLink | undefined): void {
  const router = useRouter();
  const href = link ? router.buildLocation(link as never).publicHref : null;
  useEffect(() => {
    path.set(href);
    return () => path.set((now) => (now === href ? null : now));
  }, [href]);
}

/** The address of the thing on screen, else of the page. A fragment may be a secret, so it is left out. */
export const linkOnScreen = (): string =>
  `${location.origin}${path.get() ?? `${location.pathname}${location.search}`}`;
