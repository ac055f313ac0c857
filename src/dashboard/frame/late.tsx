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

/**
 * Code that loads shortly after the page's answers, or on demand.
 * @param load a function that stays the same
 * @returns the code, null before it is loaded, and a function that loads it at once
 */
export function useLateCode<C>(
  load: () => Promise<C>,
): readonly [code: C | null, bring: () => Promise<void>] {
  const [code, setCode] = useState<C | null>(null);
  const bring = useCallback(async (): Promise<void> => {
    const loaded = await load();
    setCode(() => loaded);
  }, [load]);
  useEffect(() => {
    let timer: { cancel(): void } | null = null;
    let isHere = true;
    void whenAnswered().then(() => {
      // If the hub is unreachable now, the demand loads the code.
      if (isHere) timer = after(restMs, () => void bring().catch(() => undefined));
    });
    return () => {
      isHere = false;
      timer?.cancel();
    };
  }, [bring]);
  return [code, bring];
}

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
  const [code, bring] = useLateCode(load);
  useEffect(() => {
    if (!open || code !== null) return;
    bring().catch(() => {
      onClose();
      say(`The ${name} did not load because the hub did not respond. Reload the page.`, 'deny');
    });
  }, [open, code, bring, onClose, name]);
  return code && <code.default open={open} onClose={onClose} />;
}
