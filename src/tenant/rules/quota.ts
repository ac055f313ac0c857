// A tenant's quota of agent data in one environment. The operator of the hub sets it.

export interface Quotas {
  /** Bytes of session values, with their keys. */
  readonly sessionBytes: number;
  readonly sessionKeys: number;
  /** Bytes of approvals' arguments over 64 KiB. */
  readonly largeArgsBytes: number;
  /** Days after which such arguments are dropped; 0 keeps them. */
  readonly largeArgsDays: number;
}
