// The code of a page, loaded when somebody goes there. While the hub is gone it cannot be: the frame stays as it is,
// says so, and the page comes by itself when the hub is back. Browsers remember that a module could not be loaded, so
// the console is loaded anew then: nothing of the page that is missing can have been typed yet.
import { type ComponentType, type JSX, useEffect, useState } from 'react';
import { useStore } from '../lib/store.ts';
import { liveStatus } from '../live/live.ts';
import { Icon } from '../ui/icons.tsx';
import { Button, PageHead, Skeleton } from '../ui/parts.tsx';

type Load = () => Promise<{ readonly default: ComponentType }>;

/** The page as a component; `preload` never fails. */
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

const name = 'reeve-loaded-anew';

/** Whether this tab was loaded anew for a page that did not come: it is not tried for ever. */
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
    <div className="notice notice-deny" role="alert">
      <Icon name="triangle" />
      <div>
        <p>
          {isLive
            ? 'The hub does not have this page, possibly after an upgrade. Reload the page.'
            : 'The hub did not respond. The page loads automatically when the hub is available again.'}
        </p>
      </div>
      {isLive && <Button onClick={() => location.reload()}>Reload page</Button>}
    </div>
  </div>
);
