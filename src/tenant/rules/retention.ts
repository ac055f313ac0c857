// Retention of a tenant's records, by kind.

/** In the order in which a pass removes them: a run goes after its events. */
export const retentionKinds = ['events', 'approvals', 'runs', 'deliveries'] as const;
export type RetentionKind = (typeof retentionKinds)[number];

/** Days since the hub received a record, after which the record is removed; 0 keeps it. */
export type RetentionPolicy = { readonly [K in RetentionKind]: number };

/** Number of records of each kind. */
export type RetentionCounts = { readonly [K in RetentionKind]: number };

export const maxRetentionDays = 36_500;

export const keepEverything: RetentionPolicy = { events: 0, approvals: 0, runs: 0, deliveries: 0 };
