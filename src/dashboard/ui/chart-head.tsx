// The head of a chart: its name, what it says in words, and the switch between drawing and table.
import type { JSX } from 'react';
import { Button } from './parts.tsx';

export interface ChartHeadProps {
  /** Of the caption, which names the figure. */
  readonly id: string;
  readonly title: string;
  /** The figures under the pointer, or of all. */
  readonly says: string;
  readonly asTable: boolean;
  readonly onTable: (asTable: boolean) => void;
}

export function ChartHead({ id, title, says, asTable, onTable }: ChartHeadProps): JSX.Element {
  return (
    <figcaption id={id} className="bars-head">
      <span className="bars-says numbers">
        <span className="heard">{title}: </span>
        {says}
      </span>
      <Button kind="quiet" aria-pressed={asTable} onClick={() => onTable(!asTable)}>
        {asTable ? 'As chart' : 'As table'}
      </Button>
    </figcaption>
  );
}
