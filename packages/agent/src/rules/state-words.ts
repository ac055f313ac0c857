// One word for each state that people read, whichever API's word stands for it. Replies, filters, frames, exports and
// stored entries keep their own words.

export type CallState = 'allowed' | 'denied' | 'would deny' | 'asked';
export type ApprovalState = 'pending' | 'approved' | 'denied' | 'expired';

const callStates: { readonly [word: string]: CallState } = {
  allow: 'allowed',
  allowed: 'allowed',
  executed: 'allowed',
  call_allowed: 'allowed',
  call_executed: 'allowed',
  call_approval_granted: 'allowed',
  deny: 'denied',
  denied: 'denied',
  block: 'denied',
  blocked: 'denied',
  call_denied: 'denied',
  call_blocked: 'denied',
  call_approval_denied: 'denied',
  call_approval_blocked: 'denied',
  observe: 'would deny',
  observed: 'would deny',
  would_deny: 'would deny',
  would_block: 'would deny',
  call_would_deny: 'would deny',
  call_would_block: 'would deny',
  ask: 'asked',
  approve: 'asked',
  approval_requested: 'asked',
  pending_approval: 'asked',
  call_asked: 'asked',
  call_approval_requested: 'asked',
};

const approvalStates: { readonly [word: string]: ApprovalState } = {
  pending: 'pending',
  approval_pending: 'pending',
  approved: 'approved',
  denied: 'denied',
  timeout: 'expired',
  timed_out: 'expired',
  expired: 'expired',
  call_approval_timeout: 'expired',
};

/** The word for people; null for what is the state of neither. */
export function stateWord(word: string): CallState | ApprovalState | null {
  if (Object.hasOwn(callStates, word)) return callStates[word] ?? null;
  return Object.hasOwn(approvalStates, word) ? (approvalStates[word] ?? null) : null;
}

/** Words of agents, runs, deliveries and events that are neither the state of a call nor of an approval. */
const otherStates: { readonly [word: string]: string } = {
  drift: 'out of date',
  active: 'running',
  waiting: 'queued',
  dead: 'failed',
  warn: 'warned',
  redact: 'redacted',
  call_failed: 'failed',
  postcondition_warning: 'warned',
  workflow_stage_advanced: 'advanced',
  workflow_completed: 'completed',
  workflow_state_updated: 'updated',
};

/** The text for any state that a page or a command prints; a word that no table contains keeps its letters. */
export function displayWord(word: string): string {
  const state = stateWord(word) ?? (Object.hasOwn(otherStates, word) ? otherStates[word] : undefined);
  return state ?? word.replaceAll('_', ' ');
}

const auditStates: { readonly [action: string]: ApprovalState } = {
  'approval.created': 'pending',
  'approval.approved': 'approved',
  'approval.rejected': 'denied',
  'approval.timed_out': 'expired',
};

/** An action of the audit chain as people read it: `approval denied`, `api key created`. */
export function auditActionText(action: string): string {
  const state = Object.hasOwn(auditStates, action) ? auditStates[action] : undefined;
  return state === undefined ? action.replaceAll(/[._]/g, ' ') : `approval ${state}`;
}
