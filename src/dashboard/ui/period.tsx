// The selection of a period that ends now: `24h`, `7d`.
import type { JSX } from 'react';
import { Select } from './form.tsx';

export type Period = '1h' | '24h' | '7d' | '30d' | '90d';

const words: { readonly [P in Period]: string } = {
  '1h': 'last hour',
  '24h': 'last 24 hours',
  '7d': 'last 7 days',
  '30d': 'last 30 days',
  '90d': 'last 90 days',
};

export const PeriodSelect = <P extends Period>({
  label,
  value,
  periods,
  onValue,
}: {
  readonly label: string;
  readonly value: P;
  readonly periods: readonly P[];
  readonly onValue: (period: P) => void;
}): JSX.Element => (
  <Select
    compact
    label={label}
    value={value}
    options={periods.map((period) => [period, words[period]])}
    onValue={(next) => onValue(next as P)}
  />
);
