// Dialogs of the frame whose code loads shortly after the page's answers, or on demand. This makes the first load
// smaller.
import { type ComponentType, type JSX, useCallback, useEffect, useState } from 'react';
import { after } from '../lib/browser.ts';
import { whenAnswered } from '../lib/query.ts';
import { say } from '../ui/messages.tsx';

export interface LateProps {
  readonly open: boolean;
  readonly onClose: () => void;
}

/** Delay after the answers, in milliseconds: code that the answers require loads first. */
const restMs = 2_000;

export function Late({
  load,
  name,
  open,
  onClose,
}: LateProps & {
  readonly load: () => Promise<{ readonly default: ComponentType<LateProps> }>;
  /** Name of the dialog in an error message. */
  readonly name: string;
}): JSX.Element | null {
  const [Loaded, setLoaded] = useState<ComponentType<LateProps> | null>(null);
  const bring = useCallback(async (): Promise<void> => {
    const { default: loaded } = await load();
    setLoaded(() => loaded);
  }, [load]);
  useEffect(() => {
    let timer: { cancel(): void } | null = null;
    let isHere = true;
    void whenAnswered().then(() => {
      // If the hub is unreachable now, opening the dialog loads it.
      if (isHere) timer = after(restMs, () => void bring().catch(() => undefined));
    });
    return () => {
      isHere = false;
      timer?.cancel();
    };
  }, [bring]);
  useEffect(() => {
    if (!open || Loaded !== null) return;
    bring().catch(() => {
      onClose();
      say(`The ${name} did not load because the hub did not respond. Reload the page.`, 'deny');
    });
  }, [open, Loaded, bring, onClose, name]);
  return Loaded === null ? null : <Loaded open={open} onClose={onClose} />;
}
