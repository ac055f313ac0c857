// The list of events, in Explore and in the live tail, with a peek of the chosen event.
import type { RowData } from '@tanstack/react-table';
import type { JSX } from 'react';
import { useEventQuery, withValue } from '../../lib/event-query.ts';
import { usePeek } from '../../ui/list.tsx';
import { Peek } from '../../ui/peek.tsx';
import { Table, type TableProps } from '../../ui/table.tsx';
import { EventDetail } from './detail.tsx';

type EventTableProps<R> = Omit<TableProps<R>, 'grid' | 'keyOf' | 'chosen' | 'onOpen' | 'onTerm'> &
  // Rows without a page have no peek either.
  Required<Pick<TableProps<R>, 'linkOf'>>;

export const eventKeyOf = ({ id }: { readonly id: string }): string => id;

export function EventTable<R extends RowData & { readonly id: string }>(
  props: EventTableProps<R>,
): JSX.Element {
  const { rows, linkOf } = props;
  const query = useEventQuery();
  const { id, row, open, close } = usePeek(rows, eventKeyOf, linkOf);
  return (
    <>
      <Table
        {...props}
        grid="Events"
        keyOf={eventKeyOf}
        chosen={id}
        onOpen={(one) => linkOf(one) && open(one)}
        onTerm={(...term) => query.change(withValue(query, ...term))}
      />
      {row && (
        <Peek key={row.id} title="Event" page={linkOf(row)} onClose={close}>
          <EventDetail id={row.id} isPeek />
        </Peek>
      )}
    </>
  );
}
