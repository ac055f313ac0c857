// Why a call does not run, in the words of its record. Decides nothing.
import type { ApprovalOutcome, AskingContract } from '../approvals.ts';
import type { Decision } from '../rules/evaluate/live.ts';

export interface Denial {
  readonly source: string;
  readonly name: string | null;
  readonly reason: string;
  readonly policyError?: boolean;
}

export const denialOf = (decision: Decision): Denial => ({
  source: decision.source ?? 'yaml_precondition',
  name: decision.name,
  reason: decision.reason ?? 'Denied.',
  policyError: decision.policyError,
});

/** The contracts that ask, each with what it says under `then`. */
export const askingContracts = ({ asks, records }: Decision): AskingContract[] =>
  asks.map((ask) => {
    const metadata = records.find(({ name }) => name === ask.name)?.metadata;
    return metadata === undefined ? ask : { ...ask, metadata };
  });

/** What was asked, and that it was refused or that nobody decided. */
export function refusedByPeople(asked: Denial, { status, decidedBy, reason }: ApprovalOutcome): Denial {
  if (status !== 'denied') return { ...asked, reason: `${asked.reason} (nobody decided in time)` };
  const by = decidedBy === null ? '' : ` by ${decidedBy}`;
  const why = reason === null ? '' : `: ${reason}`;
  return { ...asked, reason: `${asked.reason} (denied${by}${why})` };
}

/** The arguments are not those that were judged: somebody changed them while the call waited. */
export const argumentsChanged: Denial = {
  source: 'arguments_changed',
  name: 'arguments_changed',
  reason: 'The arguments were changed after they were judged. Make the call again.',
};

/** What is judged could be something else than what the tool reads. */
export const argumentsInDoubt = (doubt: string): Denial => ({
  source: 'arguments_in_doubt',
  name: 'arguments_in_doubt',
  reason: `The arguments cannot be judged: ${doubt}. Give plain data; a function may give the tool anything else.`,
});

/** How records name what a shadow copy is of. */
export const shadowSources: { readonly [type: string]: string } = {
  precondition: 'yaml_precondition',
  sandbox: 'yaml_sandbox',
  session_contract: 'yaml_session',
  postcondition: 'yaml_postcondition',
};
