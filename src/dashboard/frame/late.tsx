// What the frame opens over a page, loaded a moment after the page has its answers, or when somebody asks for it: the
// first load is smaller without it.
import { type ComponentType, type JSX, useCallback, useEffect, useState } from 'react';
import { after } from '../lib/browser.ts';
import { whenAnswered } from '../lib/query.ts';
import { say } from '../ui/overlay.tsx';

export interface LateProps {
  readonly open: boolean;
  readonly onClose: () => void;
}

/** After the answers: what they make the page load comes first. */
const restMs = 2_000;

export function Late({
  load,
  name,
  open,
  onClose,
}: LateProps & {
  readonly load: () => Promise<{ readonly default: ComponentType<LateProps> }>;
  /** As the sentence of a failure calls it. */
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
      // A hub that is away then is asked again when it is opened.
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
