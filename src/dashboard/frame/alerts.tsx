// Signals while the console is in the background: the number of pending approvals in the title of the tab and, on
// opt-in, a notification for each of them.
import { useNavigate } from '@tanstack/react-router';
import { useEffect } from 'react';
import { linkTo } from '../lib/address.ts';
import { usePrefs } from '../lib/prefs.ts';
import { useCall } from '../lib/query.ts';
import { visible } from '../lib/text.ts';
import { followFrames } from '../live/live.ts';

export function Alerts(): null {
  const { data } = useCall('statsOverview');
  const { notify } = usePrefs();
  const navigate = useNavigate();
  const waiting = data?.pending_approvals ?? 0;
  useEffect(() => {
    const mark = (): void => {
      const plain = document.title.replace(/^\(\d+\) /, '');
      const newTitle = waiting > 0 ? `(${waiting}) ${plain}` : plain;
      if (document.title !== newTitle) document.title = newTitle;
    };
    mark();
    const title = document.querySelector('title');
    if (!title) return;
    const observer = new MutationObserver(mark);
    observer.observe(title, { childList: true });
    return () => observer.disconnect();
  }, [waiting]);
  useEffect(() => {
    if (!notify || !('Notification' in globalThis)) return;
    return followFrames((frame) => {
      if (frame.type !== 'approval_created' || !document.hidden || Notification.permission !== 'granted')
        return;
      const notification = new Notification(
        `${visible(frame.agent_id).slice(0, 80)} requests approval of ${visible(frame.tool_name).slice(0, 80)}`,
        {
          body: visible(frame.message).slice(0, 200),
          tag: frame.approval_id,
        },
      );
      notification.onclick = () => {
        focus();
        void navigate({ ...linkTo.approval(frame.approval_id) });
      };
    });
  }, [notify, navigate]);
  return null;
}
