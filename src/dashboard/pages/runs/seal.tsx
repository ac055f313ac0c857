// The mark of a run's seal: the latest result of Verify since the console was loaded. The hub signs bundles when they
// are requested and this browser checks them, so no list from the hub contains a result.
import type { JSX } from 'react';
import { createStore, useStore } from '../../lib/store.ts';
import { Icon } from '../../ui/icons.tsx';
import { toneIcons } from '../../ui/parts.tsx';
import { type Run, runKey } from './run.ts';

export type SealTone = keyof typeof toneIcons;

interface Seal {
  readonly tone: SealTone;
  /** Last activity of the run when its bundle was requested. */
  readonly lastActivityAt: string;
}

const seals = createStore<ReadonlyMap<string, Seal>>(new Map());

export const keepSeal = (run: Run, tone: SealTone): void =>
  seals.set((before) =>
    new Map(before).set(runKey(run.agent_id, run.session_id), { tone, lastActivityAt: run.last_activity_at }),
  );

const words: { readonly [T in SealTone]: string } = {
  allow: 'Verified',
  ask: 'Intact, signer unknown',
  deny: 'Verification failed',
};

export function SealMark({ run }: { readonly run: Run }): JSX.Element {
  const seal = useStore(seals).get(runKey(run.agent_id, run.session_id));
  const isOlder = seal !== undefined && seal.lastActivityAt !== run.last_activity_at;
  const text = seal ? `${words[seal.tone]}${isOlder ? ', new activity since' : ''}` : 'Not verified yet';
  return (
    <span className={`seal-mark ${seal && !isOlder ? `tone-${seal.tone}` : 'muted'}`} title={text}>
      <Icon name={seal ? toneIcons[seal.tone] : 'dash'} />
      <span className="heard">{text}: </span>
    </span>
  );
}
