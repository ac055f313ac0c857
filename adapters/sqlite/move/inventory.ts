// Every table, and its part in a move. A test compares this list with the schema: the author of a new table or column
// decides here.
import type { RecordKind } from '../../../src/shared/ports/moved-records.ts';

export interface TableInventory {
  /** The kinds of records that carry the rows; none where they follow from other rows. */
  readonly kinds: readonly RecordKind[];
  /** Why rows, or these columns, are not carried. */
  readonly left?: string;
  readonly columns: string;
}

const follows = (columns: string, left: string): TableInventory => ({ kinds: [], left, columns });

const summary = 'follows from the events';

export const inventory: { readonly [table: string]: TableInventory } = {
  tenants: { kinds: ['tenants'], columns: 'id name created_at suspended_at removed_at' },
  users: { kinds: ['users'], columns: 'id tenant_id email password_hash created_at roles' },
  logins: {
    kinds: ['logins'],
    columns:
      'token_hash user_id tenant_id created_at expires_at last_seen_at network browser method provider_session',
  },
  sign_ins: { kinds: ['signIns'], columns: 'user_id network last_at' },
  identities: { kinds: ['identities'], columns: 'issuer subject user_id tenant_id linked_at' },
  workspaces: { kinds: ['workspaces'], columns: 'issuer workspace_id tenant_id' },
  keys: {
    kinds: ['keys'],
    columns:
      'id tenant_id env label prefix hash created_by created_at last_used_at revoked_at agent_pattern expires_at',
  },
  service_accounts: { kinds: ['serviceAccounts'], columns: 'id tenant_id name roles created_by created_at' },
  service_tokens: {
    kinds: ['serviceTokens'],
    columns: 'id tenant_id account_id label hash created_by created_at expires_at last_used_at',
  },
  views: {
    kinds: ['views'],
    columns: 'id tenant_id owner_id page name query is_shared created_by created_at',
  },
  agent_streams: {
    kinds: ['agentStreams'],
    columns: 'id tenant_id env agent_id started_at ended_at is_end_noticed transport node',
  },
  operator_tokens: {
    kinds: ['operatorTokens'],
    columns: 'id tenant_id role created_by created_at expires_at revoked_at',
  },
  signing_keys: {
    kinds: ['signing'],
    left: 'retired keys have no seed; deployments contain their public keys',
    columns: 'id tenant_id public_key sealed_seed active created_at',
  },
  key_successions: {
    kinds: ['signing'],
    columns: 'id tenant_id previous_key public_key rotated_at signature',
  },
  deployment_sequences: { kinds: ['signing'], columns: 'tenant_id env bundle_name last' },
  deployments: {
    kinds: ['deployments', 'signing'],
    columns:
      'id tenant_id env bundle_name version revision_hash sequence signature public_key signing_key_id deployed_by ' +
      'created_at is_current attestation forced reason document_kind undeployed_at undeployed_by',
  },
  bundles: {
    kinds: ['bundles', 'signing'],
    left: 'the signature is the one of the newest deployment',
    columns:
      'id tenant_id name version revision_hash contract_count size uploaded_by created_at composition_id snapshot ' +
      'signature deleted_at mode description',
  },
  bundle_yaml: { kinds: ['bundles'], columns: 'bundle_id yaml' },
  contracts: {
    kinds: ['contracts', 'libraries'],
    columns: 'id tenant_id contract_id version name description type definition tags created_by created_at',
  },
  compositions: {
    kinds: ['libraries'],
    columns:
      'id tenant_id name description defaults_mode update_strategy items tools_config observability created_by ' +
      'created_at updated_at document_kind',
  },
  composition_contracts: follows(
    'composition_id tenant_id contract_id',
    'follows from the items of compositions',
  ),
  rules: {
    kinds: ['rules'],
    columns: 'id tenant_id priority pattern tag_match bundle_name env created_at',
  },
  settings: { kinds: ['settings'], columns: 'tenant_id name value updated_at updated_by' },
  channels: {
    kinds: ['channels'],
    columns:
      'id tenant_id name kind payload_style enabled filters sealed_config revision created_at updated_at ' +
      'last_test_at last_test_ok',
  },
  deliveries: {
    kinds: ['deliveries'],
    columns:
      'id tenant_id channel_id approval_id event status attempts run next_at give_up_at created_at updated_at ' +
      'message_id log',
  },
  ai_usage: {
    kinds: ['aiUsage'],
    columns: 'tenant_id day queries input_tokens output_tokens cost duration_ms',
  },
  registrations: {
    kinds: ['agents'],
    columns:
      'id tenant_id agent_id display_name tags bundle_name manifest last_env last_seen_at created_at retired_at ' +
      'last_api loads_any seen_envs',
  },
  reports: { kinds: ['reports'], columns: 'tenant_id env agent_id bundle_name policy_version at' },
  agents_left_out: { kinds: ['leftOut'], columns: 'tenant_id hour count' },
  tool_environments: { kinds: ['toolPins'], columns: 'tenant_id env mode sequence' },
  tool_servers: {
    kinds: ['toolPins'],
    columns: 'tenant_id env server own_mode info refused agent_id last_seen_at',
  },
  tool_definitions: {
    kinds: ['toolPins', 'toolDefinitions'],
    columns:
      'id tenant_id env server tool fingerprint bytes key_id first_seen_at last_seen_at is_change decision decided_by ' +
      'decided_at reason is_announced agents definition',
  },
  approvals: {
    kinds: ['approvals'],
    columns:
      'id tenant_id status agent_id tool_name tool_args message env timeout_seconds timeout_effect decision_source ' +
      'contract_name decided_by decided_at decision_reason decided_via created_at deadline unannounced_at decision_id ' +
      'args_bytes contracts principal session_id call_id ruleset_name decided_by_subject assignee assignee_id',
  },
  approval_args: { kinds: ['approvalArgs'], columns: 'tenant_id id env bytes created_at args key_id' },
  idempotency: {
    kinds: ['idempotency'],
    columns: 'tenant_id id body_hash new_id runs_until expires_at answer',
  },
  retention_counts: { kinds: ['retentionCounts'], columns: 'tenant_id kind removed' },
  audit_links: { kinds: ['auditLinks'], columns: 'tenant_id seq at prev digest body' },
  audit_heads: {
    kinds: ['auditHeads'],
    columns: 'tenant_id seq digest signed_at key_id public_key signature starts',
  },
  audit_entries: follows(
    'tenant_id seq position at actor_id actor_display action subject_type',
    'follows from the bodies of the links',
  ),
  audit_ids: follows('tenant_id id', 'follows from the bodies of the links'),
  audit_run_ids: follows('tenant_id id', 'follows from the bodies of the links'),
  runs: {
    kinds: ['runs'],
    columns: 'id tenant_id agent session env started_at last_at received_at standing sample facts trimmed',
  },
  segments: {
    kinds: ['events'],
    left: 'summaries of the events of a segment',
    columns:
      'id tenant max_ts min_ts received_at batch env agent events outcomes tallies names later places marks versions ' +
      'sample',
  },
  segment_bodies: {
    kinds: ['events'],
    left: 'call_keys finds the call ids in a packed body',
    columns: 'segment body form sender call_keys',
  },
  outcomes: {
    kinds: ['events', 'exportLinks'],
    columns: 'id segment position key outcome after_segment',
  },
  approval_lines: { kinds: ['exportLinks'], columns: 'seq tenant_id id change' },
  export_removals: {
    kinds: ['exportRemovals'],
    left: 'places in the order of this file',
    columns: 'tenant_id kind removed last_place last_outcome',
  },
  tenant_numbers: follows('number tenant_id minutes_from', 'numbers of this file'),
  calls: follows('tenant call_id entry', summary),
  tool_hours: follows('tenant agent hour env tool events allowed denied observed last_ts', summary),
  agent_tools: follows('tenant agent env tool last_hour', summary),
  agent_hours: follows('tenant hour agent env version events first_ts last_ts', summary),
  contract_hours: follows('tenant start env name events denied observed last_ts', summary),
  contract_minutes: follows('tenant start env name events denied observed last_ts', summary),
  session_values: {
    kinds: ['values'],
    left: 'values that have expired',
    columns: 'tenant_id key env bytes expires_at value',
  },
  value_usage: follows('tenant_id env bytes keys', 'follows from the values'),
  seals: { kinds: ['seals'], columns: 'name value' },
  jobs: {
    kinds: ['jobs'],
    left: 'run, losses and progress of a job that was running',
    columns:
      'queue id payload state due run failures losses max_attempts backoff longest_backoff error progress died_at',
  },
  tenant_imports: follows(
    'id tenant_id name created_at suspended_at sealed_key opened',
    'an import that has not ended begins again',
  ),
  tenant_import_parts: follows(
    'tenant_id number digests ending',
    'an import that has not ended begins again',
  ),
  store: follows('id mark merged counted_through outcomes_after outcome_removed', 'numbers of this file'),
};
