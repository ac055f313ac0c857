// Records of one kind from a declaration: a table with its columns, the acts on a row with their dialogs, the act that
// adds a record, and an empty list's text. Forms show the hub's refusals at their fields.
import type { RowData } from '@tanstack/react-table';
import { type JSX, type ReactNode, useState } from 'react';
import type { Env } from '../../shared/ids.ts';
import type { ThingLink } from '../lib/address.ts';
import type { ApiError, Input, Operation } from '../lib/api.ts';
import { type CommandName, commandOf, useCommand } from '../lib/commands.ts';
import type { HostedOperation } from '../lib/hosted.ts';
import { useActionBlockReason } from '../lib/may.ts';
import { useAction } from '../lib/query.ts';
import { useFilters } from '../lib/search.ts';
import { visible } from '../lib/text.ts';
import { ActButton } from './act-button.tsx';
import { Choice, type ChoiceProps } from './choice.tsx';
import { Confirmation } from './confirm.tsx';
import { Dialog } from './dialog.tsx';
import { Field, type FieldProps, Form, useFields } from './form.tsx';
import type { IconName } from './icons.tsx';
import { PeekList, SearchInput } from './list.tsx';
import { Empty } from './parts.tsx';
import type { QueryState } from './query-result.tsx';
import type { Column, TableProps } from './table.tsx';

/** A button in each row. */
export interface RowAct<R> {
  readonly label: string;
  /** Its accessible name, which names the row, too. */
  readonly name: (row: R) => string;
  readonly icon?: IconName;
  /** The button is off for people without the role of the operation in these environments. */
  readonly operation?: Operation;
  readonly envs?: (row: R) => readonly Env[];
  readonly isHidden?: (row: R) => boolean;
  /** The act is in progress: the button is off. */
  readonly isBusy?: (row: R) => boolean;
  /** Acts at once; absent: the act opens its dialog. */
  readonly press?: (row: R) => void;
  readonly dialog?: (row: R, close: () => void) => ReactNode;
}

/** A choice above the list that narrows it. Its value is in the address. */
export interface Facet {
  /** In the address. */
  readonly name: string;
  readonly label: string;
  /** Text of the option that narrows nothing. */
  readonly all: string;
  readonly options: ChoiceProps['options'];
}

export interface Resource<R> extends Omit<TableProps<R>, 'rows' | 'row' | 'linkOf'> {
  /** Singular. */
  readonly noun: string;
  readonly facets?: readonly Facet[];
  /** A search field stands before the facets. */
  readonly isSearched?: boolean;
  readonly acts?: readonly RowAct<R>[];
  /** Width of the column of acts. */
  readonly actsWidth?: number;
  /** Absent: nothing can be added here, or not by this person. */
  readonly add?: {
    readonly label: string;
    readonly kind?: 'primary' | 'plain';
    readonly icon?: IconName;
    readonly operation?: Operation | HostedOperation;
    /** Also opens the dialog. */
    readonly command?: CommandName;
    readonly dialog: (close: () => void) => ReactNode;
  };
  /** The state of an empty list, or what stands in its place. */
  readonly empty?: { readonly title: string; readonly text: string } | string | JSX.Element;
  /** The page of a row. Without a peek, a press on the row leads there. */
  readonly linkOf?: (row: R) => ThingLink;
  /** A press on a row opens this beside the list. */
  readonly peek?: (row: R) => ReactNode;
  /** Title of the peek. */
  readonly title?: (row: R) => string;
}

export interface ResourceViewProps<R> {
  readonly resource: Resource<R>;
  readonly query: QueryState<unknown>;
  /** The rows belong to the previous filters. */
  readonly isOld?: boolean;
  readonly rows: readonly R[];
  /** The head of the page or card, around the button that adds a record. */
  readonly head: (add: ReactNode) => ReactNode;
}

export function ResourceView<R extends RowData>(props: ResourceViewProps<R>): JSX.Element {
  const { query, isOld = false, rows, head } = props;
  const { noun, facets = [], isSearched = false, acts = [], actsWidth = 1, ...declared } = props.resource;
  const { add, empty, columns, ...rest } = declared;
  const { keyOf } = rest;
  const [open, setOpen] = useState<{ readonly act: RowAct<R>; readonly row: R } | null>(null);
  const [isAdding, setAdding] = useState(false);
  const column: Column<R> = {
    key: 'actions',
    label: 'Actions',
    width: actsWidth,
    cell: (row) => (
      <span className="decide-buttons">
        {acts
          .filter((act) => !act.isHidden?.(row))
          .map((act) => (
            <ActButton
              key={act.label}
              operation={act.operation}
              envs={act.envs?.(row)}
              kind="quiet"
              busy={act.isBusy?.(row) ?? false}
              aria-label={act.name(row)}
              onClick={() => (act.press ? act.press(row) : setOpen({ act, row }))}
              {...(act.icon ? { icon: act.icon } : {})}
            >
              {act.label}
            </ActButton>
          ))}
      </span>
    ),
  };
  const list = {
    ...rest,
    row: noun,
    rows,
    columns: acts.length > 0 ? [...columns, column] : columns,
  };
  const [filters] = useFilters();
  const isNarrowed = [...facets.map(({ name }) => name), ...(isSearched ? ['search'] : [])].some(
    (name) => filters[name],
  );
  const none = isNarrowed ? (
    <Empty title={`No ${rest.name} match these filters`} text="Remove a filter to see more." />
  ) : typeof empty === 'string' ? (
    <p className="muted">{empty}</p>
  ) : empty && 'title' in empty ? (
    <Empty {...empty} />
  ) : (
    empty
  );
  // The newest state of an open row; a row that is gone keeps its last one.
  const current = open && (rows.find((row) => keyOf(row) === keyOf(open.row)) ?? open.row);
  return (
    <>
      {head(
        add && (
          <ActButton
            operation={add.operation}
            kind={add.kind ?? 'plain'}
            icon={add.icon ?? 'plus'}
            onClick={() => setAdding(true)}
          >
            {add.label}
          </ActButton>
        ),
      )}
      {add?.command && <AddCommand command={add.command} onAdd={() => setAdding(true)} />}
      {(facets.length > 0 || isSearched) && (
        <div className="filter-bar">
          {isSearched && <SearchInput items={rest.name} />}
          {facets.map((facet) => (
            <FacetChoice key={facet.name} {...facet} />
          ))}
        </div>
      )}
      <PeekList {...list} query={query} isOld={isOld} empty={none} />
      {isAdding && add?.dialog(() => setAdding(false))}
      {open && current && open.act.dialog?.(current, () => setOpen(null))}
    </>
  );
}

function FacetChoice({ name, label, all, options }: Facet): JSX.Element {
  const [{ [name]: value = '' }, change] = useFilters();
  const isAbsent = value !== '' && !options.some((one) => (typeof one === 'string' ? one : one[0]) === value);
  return (
    <Choice
      compact
      label={label}
      value={value}
      options={[['', all], ...options, ...(isAbsent ? [value] : [])]}
      onValue={(next) => change({ [name]: next, peek: undefined })}
    />
  );
}

/** Offers the command that adds a record. */
function AddCommand({ command, onAdd }: Readonly<{ command: CommandName; onAdd: () => void }>): null {
  useCommand(command, onAdd, { why: useActionBlockReason(commandOf(command).operation) });
  return null;
}

interface RemovalProps<N extends Operation> {
  readonly operation: N;
  readonly refreshes: readonly Operation[];
  /** Title of the dialog and label of its button: a verb and its object. */
  readonly title: string;
  readonly input: Input<N>;
  readonly open?: boolean;
  readonly onClose: () => void;
  /** Called after the removal. Default: `onClose`. */
  readonly onDone?: () => void;
  /** The consequences. */
  readonly children: ReactNode;
}

/** The confirmation before a record is removed, with the consequences. */
export const RemovalDialog = <N extends Operation>(props: RemovalProps<N>): JSX.Element => (
  <Dialog title={props.title} open={props.open ?? true} onClose={props.onClose}>
    <RemovalConfirmation {...props} />
  </Dialog>
);

/** A new one each time that the dialog opens. */
function RemovalConfirmation<N extends Operation>(props: RemovalProps<N>): JSX.Element {
  const { operation, refreshes, title, onClose, onDone = onClose, children } = props;
  const remove = useAction(operation, refreshes);
  const ifMatch = useReviewedTag((props.input as Conditional).ifMatch, remove.error);
  const input: Input<N> = { ...props.input, ...(ifMatch === undefined ? {} : { ifMatch }) };
  return (
    <Confirmation {...{ title, onClose }} by={remove} onAct={() => remove.mutate(input, onDone)}>
      <p>{children}</p>
    </Confirmation>
  );
}

interface Conditional {
  readonly ifMatch?: string;
}

/**
 * The tag of the record at the opening of the dialog. After a refusal, it is the first newer one: the dialog has shown
 * that the record changed.
 */
function useReviewedTag(newest: string | undefined, error: ApiError | null): string | undefined {
  const [reviewed, setReviewed] = useState<{ readonly tag: typeof newest; readonly refusal: typeof error }>({
    tag: newest,
    refusal: null,
  });
  if (error?.status === 412 && error !== reviewed.refusal && newest !== reviewed.tag) {
    setReviewed({ tag: newest, refusal: error });
  }
  return reviewed.tag;
}

export interface Removal<R, N extends Operation>
  extends Pick<RowAct<R>, 'label' | 'envs' | 'isHidden'>,
    Pick<RemovalProps<N>, 'operation' | 'refreshes' | 'title'> {
  /** Name of a row, for its button. */
  readonly of: (row: R) => string;
  readonly input: (row: R) => Input<N>;
  /** The consequences. */
  readonly text: (row: R) => ReactNode;
}

/** The act that removes a row, after a confirmation that names the consequences. */
export const removal = <R, N extends Operation>(one: Removal<R, N>): RowAct<R> => ({
  ...one,
  name: (row) => `${one.label} ${visible(one.of(row)).slice(0, 80)}`,
  icon: 'trash',
  dialog: (row, close) => (
    <RemovalDialog {...one} input={one.input(row)} onClose={close}>
      {one.text(row)}
    </RemovalDialog>
  ),
});

type Values = { readonly [name: string]: string };

/** A field of a form; with options, a choice. */
export interface RecordField<V extends Values>
  extends Omit<FieldProps, 'value' | 'onValue' | 'error' | 'name'> {
  readonly name: keyof V & string;
  /** Its name in the hub's refusals. Default: `name`. */
  readonly sent?: string;
  readonly options?: ChoiceProps['options'];
  readonly onSearch?: ChoiceProps['onSearch'];
  /** A mistake that is visible before the form is sent. */
  readonly problem?: string | null;
}

export interface RecordFormProps<V extends Values> {
  readonly initial: V;
  readonly fields: (values: V) => readonly RecordField<V>[];
  /** The mutation that the form sends. */
  readonly by: { readonly isPending: boolean; readonly error: ApiError | null };
  readonly act: string;
  readonly isOff?: boolean;
  /** The button is off for people without the role of the operation in these environments. */
  readonly operation?: Operation;
  readonly envs?: (values: V) => readonly Env[];
  readonly onSubmit: (values: V) => void;
  /** Below the fields. */
  readonly children?: (values: V) => ReactNode;
}

export function RecordForm<V extends Values>(props: RecordFormProps<V>): JSX.Element {
  const { initial, by, act, isOff = false, operation, envs, onSubmit, children } = props;
  const [values, bind] = useFields(initial);
  const fields = props.fields(values);
  const hasProblem = fields.some(({ problem }) => problem !== undefined && problem !== null);
  return (
    <Form
      onSubmit={() => onSubmit(values)}
      by={by}
      act={act}
      isOff={isOff || hasProblem}
      envs={envs?.(values) ?? []}
      {...(operation ? { operation } : {})}
    >
      {fields.map(({ name, sent = name, options, onSearch, problem, label, ...rest }) => {
        const shared = { label, ...bind(name, sent) };
        return options ? (
          <Choice {...shared} {...{ options, onSearch }} key={name} />
        ) : (
          <Field {...rest} {...shared} key={name} error={problem ?? undefined} />
        );
      })}
      {children?.(values)}
    </Form>
  );
}
