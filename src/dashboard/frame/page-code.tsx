// Loads the code of a page on the first visit. While the hub is unreachable, the frame displays a notice, and the page
// loads automatically later. Browsers cache a module's failure, so the console reloads then. No input gets lost,
// because the missing page had none.
import { type ComponentType, type JSX, useEffect, useState } from 'react';
import { useStore } from '../lib/store.ts';
import { liveStatus } from '../live/live.ts';
import { Button, Notice, PageHead, Skeleton } from '../ui/parts.tsx';

type Load = () => Promise<{ readonly default: ComponentType }>;

/** A page as a lazy component. `preload` never rejects. */
export function pageCode(load: Load): (() => JSX.Element) & { readonly preload: () => Promise<void> } {
  let Page: ComponentType | null = null;
  let loading: Promise<void> | null = null;
  const preload = (): Promise<void> => {
    loading ??= load()
      .then(({ default: loaded }) => {
        Page = loaded;
        reloaded.set(false);
      })
      .catch(() => undefined)
      .finally(() => {
        loading = null;
      });
    return loading;
  };
  // biome-ignore lint/correctness/noComponentHookFactories: made once for each page, when the console starts
  function Loaded(): JSX.Element {
    const [failed, setFailed] = useState(false);
    const { state } = useStore(liveStatus);
    const isLive = state === 'live';
    useEffect(() => {
      if (Page !== null) return;
      let isHere = true;
      void preload().then(() => {
        if (isHere) setFailed(true);
      });
      return () => {
        isHere = false;
      };
    }, []);
    useEffect(() => {
      if (!failed || !isLive || Page !== null || reloaded.get()) return;
      reloaded.set(true);
      location.reload();
    }, [failed, isLive]);
    if (Page !== null) return <Page />;
    return failed ? <NotLoaded isLive={isLive} /> : <Skeleton />;
  }
  return Object.assign(Loaded, { preload });
}

const name = 'reeve-reloaded';

/** True if this tab has reloaded for a missing page before, so that it does not reload forever. */
const reloaded = {
  get: (): boolean => sessionStorage.getItem(name) !== null,
  set(value: boolean): void {
    if (value) sessionStorage.setItem(name, '1');
    else sessionStorage.removeItem(name);
  },
};

const NotLoaded = ({ isLive }: { readonly isLive: boolean }): JSX.Element => (
  <div className="page">
    <PageHead title="This page did not load" />
    <Notice
      tone="deny"
      icon="triangle"
      role="alert"
      acts={isLive && <Button onClick={() => location.reload()}>Reload page</Button>}
    >
      <p>
        {isLive
          ? 'The hub does not have this page, possibly after an upgrade. Reload the page.'
          : 'The hub did not respond. The page loads automatically when the hub is available again.'}
      </p>
    </Notice>
  </div>
);
