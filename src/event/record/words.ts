// The words of events, of queries and of the screen for the result of a call. Runs in browsers.

/** The four words of a call, with the words of both APIs for each. */
export const verdictChoices = {
  allowed: ['call_allowed', 'call_executed', 'call_approval_granted', 'allow', 'executed'],
  denied: ['call_denied', 'call_blocked', 'call_approval_denied', 'call_approval_blocked', 'block', 'deny'],
  would_deny: [
    'call_would_deny',
    'call_would_block',
    'would_block',
    'observed',
    'observe',
    'would deny',
    'would-deny',
  ],
  asked: ['call_asked', 'call_approval_requested', 'ask', 'approve', 'pending', 'pending_approval'],
} as const;
export type VerdictWord = keyof typeof verdictChoices;

/** The words for later reports about a call. */
export const thenChoices = {
  approved: ['call_approval_granted', 'granted'],
  denied: ['call_approval_denied', 'call_approval_blocked', 'blocked'],
  expired: ['call_approval_timeout', 'timeout'],
  succeeded: ['call_executed', 'executed'],
  failed: ['call_failed'],
  timed_out: ['timed out'],
  warned: ['postcondition_warning'],
} as const;
export type ThenWord = keyof typeof thenChoices;

/** Actions in events, in the words of the hosted API. */
export const decisionActions = [
  'call_allowed',
  'call_blocked',
  'call_would_block',
  'call_executed',
  'call_failed',
  'call_asked',
  'call_approval_granted',
  'call_approval_blocked',
  'call_approval_timeout',
  'postcondition_warning',
  'workflow_stage_advanced',
  'workflow_completed',
  'workflow_state_updated',
] as const;
export type DecisionAction = (typeof decisionActions)[number];

/** Classes of actions for counts and filters. `other` is a word that the hub does not know. */
export const decisionClasses = [
  'allow',
  'block',
  'ask',
  'would_block',
  'timeout',
  'fail',
  'warn',
  'workflow',
  'other',
] as const;

export type DecisionClass = (typeof decisionClasses)[number];

export const conditionResults = ['yes', 'no', 'fault', 'skipped'] as const;
