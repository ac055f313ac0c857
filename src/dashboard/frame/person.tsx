// The button of the signed-in person at the top. Its menu loads shortly after the page's answers, or on a click. This
// makes the first load an eighth smaller.
import { type JSX, useRef, useState } from 'react';
import { useSignedIn } from '../lib/me.ts';
import { Icon } from '../ui/icons.tsx';
import { say } from '../ui/messages.tsx';
import { useLateCode } from './late.tsx';

const loadMenu = () => import('./person-menu.tsx');

export function Person(): JSX.Element {
  const { email } = useSignedIn();
  const [code, bring] = useLateCode(loadMenu);
  const [pressed, setPressed] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  if (code !== null) {
    // The menu's own button replaces this one, and takes over its focus.
    const hadFocus = button.current !== null && document.activeElement === button.current;
    return <code.PersonMenu autoFocus={hadFocus} defaultOpen={pressed} />;
  }
  const press = (): void => {
    setPressed(true);
    bring().catch(() => {
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
