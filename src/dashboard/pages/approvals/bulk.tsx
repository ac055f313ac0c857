// Many approvals decided together: what came of each is told in numbers, and those that failed stay selected.
import { type JSX, useEffect, useRef, useState } from 'react';
import { useCannotAct } from '../../frame/connection.tsx';
import type { ApiError } from '../../lib/api.ts';
import { counted } from '../../lib/text.ts';
import { Failed } from '../../ui/answer.tsx';
import { say } from '../../ui/overlay.tsx';
import { Button } from '../../ui/parts.tsx';
import { decideAll } from './model.ts';

export function Bulk({
  ids,
  onDone,
}: {
  readonly ids: readonly string[];
  /** Those that stay selected. */
  readonly onDone: (left: readonly string[]) => void;
}): JSX.Element {
  const [reason, setReason] = useState('');
  const [busy, setBusy] = useState<boolean | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const cannot = useCannotAct();
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.scrollIntoView({ block: 'nearest' }), []);
  const run = (approved: boolean) => async (): Promise<void> => {
    setBusy(approved);
    setError(null);
    const made = await decideAll(ids, approved, reason);
    setBusy(null);
    const all = [...made.values()];
    const own = all.filter((one) => one.state === 'decided' && one.mine).length;
    const lost = all.filter((one) => one.state === 'decided' && !one.mine).length;
    const failed = [...made].filter(([, one]) => one.state === 'failed');
    const parts = [
      `${counted(own, 'call')} ${approved ? 'approved' : 'denied'}`,
      ...(lost > 0 ? [`${lost} decided by others before`] : []),
      ...(failed.length > 0 ? [`${failed.length} failed, still wait, and stay selected`] : []),
    ];
    say(`${parts.join(', ')}.`, failed.length > 0 ? 'deny' : 'allow');
    const [, first] = failed[0] ?? [];
    if (first?.state === 'failed') setError(first.error);
    onDone(failed.map(([id]) => id));
  };
  return (
    <section className="bulk" aria-label="Bulk decision">
      <strong>{ids.length} selected</strong>
      <label>
        <span className="heard">Reason for all</span>
        <input
          ref={field}
          value={reason}
          maxLength={2000}
          placeholder="Reason for all"
          onChange={(event) => setReason(event.target.value)}
        />
      </label>
      <Button
        kind="primary"
        busy={busy === true}
        disabled={busy !== null || cannot !== null}
        onClick={() => void run(true)()}
      >
        Approve {ids.length}
      </Button>
      <Button
        kind="danger"
        busy={busy === false}
        disabled={busy !== null || cannot !== null}
        onClick={() => void run(false)()}
      >
        Deny {ids.length}
      </Button>
      <Button kind="quiet" onClick={() => onDone([])}>
        Clear
      </Button>
      {cannot && <p className="field-error bulk-says">{cannot}</p>}
      {error && (
        <div className="bulk-says">
          <Failed error={error} />
        </div>
      )}
    </section>
  );
}
