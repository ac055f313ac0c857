// The button of the person at the top. Its menu is loaded a moment after the page has its answers, or when somebody
// presses: the first load is an eighth smaller without it.
import { type ComponentType, type JSX, useCallback, useEffect, useRef, useState } from 'react';
import { after } from '../lib/browser.ts';
import { useSignedIn } from '../lib/me.ts';
import { whenAnswered } from '../lib/query.ts';
import { Icon } from '../ui/icons.tsx';
import { say } from '../ui/overlay.tsx';
import type { PersonMenuProps } from './person-menu.tsx';

/** After the answers: what they make the page load comes first. */
const restMs = 2_000;

export function Person(): JSX.Element {
  const { email } = useSignedIn();
  const [Menu, setMenu] = useState<ComponentType<PersonMenuProps> | null>(null);
  const [pressed, setPressed] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  /** The menu's own button takes the place of this one: it takes the focus too. */
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
      // A hub that is away then is asked again at a press.
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
