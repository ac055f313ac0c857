// Short messages at the edge of the screen. They stay while the pointer or the focus is on one.
import { Toast } from '@base-ui/react/toast';
import type { JSX } from 'react';
import { useStore } from '../lib/store.ts';
import { middleCut, visible } from '../lib/text.ts';
import { unansweredActions } from '../lib/unanswered.ts';
import { Icon } from './icons.tsx';

type Tone = 'allow' | 'deny' | 'plain';

const manager = Toast.createToastManager();
const visibleMs = 6_000;
const maxMessages = 4;

/** Displays a short message, and announces it to screen readers. */
export function say(text: string, tone: Tone = 'plain'): void {
  manager.add({
    title: middleCut(visible(text), 500),
    type: tone,
    timeout: tone === 'deny' ? visibleMs * 2 : visibleMs,
  });
}

/** The messages of all pages, also before the sign-in. */
export const Messages = (): JSX.Element => (
  <Toast.Provider toastManager={manager} limit={maxMessages}>
    <Toast.Viewport className="messages" aria-label="Messages">
      <Unanswered />
      <List />
    </Toast.Viewport>
  </Toast.Provider>
);

function Unanswered(): JSX.Element | null {
  if (useStore(unansweredActions) === 0) return null;
  return (
    <p className="message row tone-ask">
      <Icon name="triangle" />
      The hub has not answered for 10 s. Your action may have taken effect. Check before you try again.
    </p>
  );
}

function List(): readonly JSX.Element[] {
  return Toast.useToastManager().toasts.map((toast) => (
    <Toast.Root
      key={toast.id}
      toast={toast}
      // A message asks nothing, so it is no dialog.
      // biome-ignore lint/a11y/useSemanticElements: a fieldset is for the fields of a form
      render={({ 'aria-modal': _, ...props }) => <div {...props} role="group" />}
      className={`message row tone-${toast.type}`}
      swipeDirection={['right', 'down']}
    >
      {toast.type !== 'plain' && <Icon name={toast.type === 'allow' ? 'check' : 'triangle'} />}
      <Toast.Title render={<p />} />
    </Toast.Root>
  ));
}
