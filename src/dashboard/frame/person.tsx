// The button of the signed-in person at the top. Its menu loads shortly after the page's answers, or on a click. This
// makes the first load an eighth smaller.
import { type ComponentType, type JSX, useCallback, useEffect, useRef, useState } from 'react';
import { after } from '../lib/browser.ts';
import { useSignedIn } from '../lib/me.ts';
import { whenAnswered } from '../lib/query.ts';
import { Icon } from '../ui/icons.tsx';
import { say } from '../ui/messages.tsx';
import type { PersonMenuProps } from './person-menu.tsx';

/** Delay after the answers, in milliseconds: code that the answers require loads first. */
const restMs = 2_000;

export function Person(): JSX.Element {
  const { email } = useSignedIn();
  const [Menu, setMenu] = useState<ComponentType<PersonMenuProps> | null>(null);
  const [pressed, setPressed] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  /** The menu's own button replaces this one, and takes over its focus. */
  const hadFocus = useRef(false);
  const load = useCallback(async (): Promise<void> => {
    const { PersonMenu } = await import('./person-menu.tsx');
    hadFocus.current = button.current !== null && document.activeElement === button.current;
    setMenu(() => PersonMenu);
  }, []);
  useEffect(() => {
    let timer: { cancel(): void } | null = null;
    let isHere = true;
    void whenAnswered().then(() => {
      // If the hub is unreachable now, a click loads the menu.
      if (isHere) timer = after(restMs, () => void load().catch(() => undefined));
    });
    return () => {
      isHere = false;
      timer?.cancel();
    };
  }, [load]);
  if (Menu !== null) return <Menu autoFocus={hadFocus.current} defaultOpen={pressed} />;
  const press = (): void => {
    setPressed(true);
    load().catch(() => {
      setPressed(false);
      say('The menu did not load because the hub did not respond. Reload the page.', 'deny');
    });
  };
  return (
    <button
      ref={button}
      type="button"
      className="button button-quiet"
      aria-label={`Account ${email}`}
      aria-haspopup="menu"
      aria-expanded={false}
      onClick={press}
    >
      <Icon name="person" />
    </button>
  );
}
