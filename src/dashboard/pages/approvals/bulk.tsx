// The bar for several calls: the selected ones with their decision, and the decisions that are not sent yet.
import { type JSX, useEffect, useRef, useState } from 'react';
import type { ApiError } from '../../lib/api.ts';
import { useActionBlockReason } from '../../lib/may.ts';
import { middleCut, visible } from '../../lib/text.ts';
import { Button } from '../../ui/parts.tsx';
import { Failed } from '../../ui/query-result.tsx';
import { type AlikeCalls, groupAlike } from './alike.ts';
import { type Held, HeldRow } from './held.tsx';
import { pageSize } from './members.ts';
import type { Approval } from './model.ts';

interface BulkProps {
  /** The selected pending approvals. */
  readonly calls: readonly Approval[];
  readonly held: Held;
  /** Of the latest decision about several calls. */
  readonly error: ApiError | null;
  readonly reason: string;
  readonly onReason: (reason: string) => void;
  readonly onClearError: () => void;
  readonly onSelect: (ids: readonly string[]) => void;
  readonly onReview: (group: AlikeCalls) => void;
}

export function Bulk(props: BulkProps): JSX.Element | null {
  const { calls, held, error, onClearError } = props;
  const bar = useRef<HTMLElement>(null);
  const isOpen = calls.length > 0 || held.decisions.length > 0 || error !== null;
  useEffect(() => {
    if (isOpen) bar.current?.scrollIntoView({ block: 'nearest' });
  }, [isOpen]);
  if (!isOpen) return held.question;
  return (
    <section ref={bar} className="bulk" aria-label="Bulk decision">
      {held.decisions.map((decision) => (
        <HeldRow key={decision.ids[0]} decision={decision} onUndo={() => held.undo(decision)} />
      ))}
      {calls.length > 0 && <Selected {...props} />}
      {error && (
        <div className="bulk-says">
          <Failed error={error} />
          {calls.length === 0 && (
            <Button kind="quiet" onClick={onClearError}>
              Close
            </Button>
          )}
        </div>
      )}
      {held.question}
    </section>
  );
}

function Selected({ calls, held, reason, onReason, onSelect, onReview }: BulkProps): JSX.Element {
  const cannot = useActionBlockReason('decideApproval', [...new Set(calls.map(({ env }) => env))]);
  const groups = groupAlike(calls);
  const [alike] = groups;
  const isUnlike = groups.length > 1;
  const id = 'bulk-unlike';
  const part = calls.slice(0, pageSize);
  return (
    <>
      <strong>{calls.length} selected</strong>
      <label>
        <span className="heard">Reason for all</span>
        <input
          value={reason}
          maxLength={2000}
          placeholder="Reason for all"
          onChange={(event) => onReason(event.target.value)}
        />
      </label>
      <Button
        kind="primary"
        disabled={held.isSending || cannot !== null || isUnlike}
        aria-describedby={isUnlike ? id : undefined}
        onClick={() => alike && onReview(alike)}
      >
        Approve {calls.length}
      </Button>
      <Button
        kind="danger"
        busy={held.isSending}
        disabled={cannot !== null}
        onClick={() => held.hold(part, false, reason)}
      >
        Deny {part.length}
      </Button>
      <Button kind="quiet" onClick={() => onSelect([])}>
        Clear selection
      </Button>
      {cannot && <p className="field-error bulk-says">{cannot}</p>}
      {part.length < calls.length && (
        <p className="muted bulk-says">
          A decision covers at most {pageSize} calls: the others stay selected.
        </p>
      )}
      {isUnlike && (
        <div className="bulk-says">
          <p id={id} className="muted">
            You can approve calls together only if they have the same tool, contract and environment. Select
            one group:
          </p>
          <div className="bulk-kinds">
            {groups.map(({ tool, contracts, env, calls: own }) => (
              <Button key={`${tool} ${contracts} ${env}`} onClick={() => onSelect(own.map((one) => one.id))}>
                {own.length} ×{' '}
                {[tool, ...contracts, env].map((name) => middleCut(visible(name), 40)).join(' · ')}
              </Button>
            ))}
          </div>
        </div>
      )}
    </>
  );
}

/** The selection of the queue, with the reason for its decision and the error of the latest one. */
export function useSelection() {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set());
  const [error, setError] = useState<ApiError | null>(null);
  const [reason, setReason] = useState('');
  return { ids, setIds, error, setError, reason, setReason };
}
