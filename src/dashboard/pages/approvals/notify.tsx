// Browser notifications, on opt-in. Browsers offer none on plain http, and the page displays that.
import { type JSX, useState } from 'react';
import { changePrefs, usePrefs } from '../../lib/prefs.ts';
import { Button } from '../../ui/parts.tsx';

export function NotifySwitch(): JSX.Element {
  const { notify: wished } = usePrefs();
  const [refused, setRefused] = useState<string | null>(null);
  const can = 'Notification' in globalThis && isSecureContext;
  // A person can revoke the permission in the browser.
  const notify = wished && can && Notification.permission === 'granted';
  const turnOn = async (): Promise<void> => {
    const answer = await Notification.requestPermission();
    if (answer === 'granted') changePrefs({ notify: true });
    else
      setRefused('The browser blocked notifications. Allow them for this address in the browser settings.');
  };
  if (!can) {
    return <p className="muted">Notifications are available only over HTTPS or on localhost.</p>;
  }
  return (
    <>
      {refused && <p className="muted">{refused}</p>}
      <Button
        icon="bell"
        aria-pressed={notify}
        onClick={() => (notify ? changePrefs({ notify: false }) : void turnOn())}
      >
        {notify ? 'Turn off notifications' : 'Turn on notifications'}
      </Button>
    </>
  );
}
