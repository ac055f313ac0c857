// A form and its fields: labels, help, mistakes that the browser finds before the form is sent, and the hub's refusals
// at the fields that they name. Submission stays in the page: the browser's own would load another one.
import { Field as Base } from '@base-ui/react/field';
import { Form as BaseForm } from '@base-ui/react/form';
import { type ComponentProps, type JSX, type ReactElement, type ReactNode, useRef, useState } from 'react';
import { flushSync } from 'react-dom';
import type { Env } from '../../shared/ids.ts';
import type { ApiError, Operation } from '../lib/api.ts';
import type { HostedOperation } from '../lib/hosted.ts';
import { changePrefs, usePrefs } from '../lib/prefs.ts';
import { middleCut, visible } from '../lib/text.ts';
import { ActButton } from './act-button.tsx';
import { Failed } from './query-result.tsx';

export interface FormProps {
  readonly onSubmit: () => void;
  readonly className?: string;
  readonly label?: string;
  /** The mutation that the form sends. */
  readonly by?: { readonly isPending: boolean; readonly error: ApiError | null };
  /** The refusals by field. Default: those in the mutation's error. */
  readonly errors?: { readonly [name: string]: string };
  /** Label of a button that submits a change. Absent: the form has a button of its own. */
  readonly act?: ReactNode;
  readonly isOff?: boolean;
  /** The button is off for people without the role of the operation in these environments. */
  readonly operation?: Operation | HostedOperation;
  readonly envs?: readonly Env[];
  /** Beside that button, or in its place. */
  readonly buttons?: ReactNode;
  readonly children: ReactNode;
}

const noErrors = {};

/** A failure is at the end of the form, unless it consists of refusals that fields of the form show. */
export function Form(props: FormProps): JSX.Element {
  const { onSubmit, className = 'form', label, by, act, isOff, operation, envs, buttons, children } = props;
  const form = useRef<HTMLFormElement>(null);
  const error = by?.error ?? null;
  const refusals = props.errors ?? error?.fields ?? noErrors;
  // The cause of a refusal may be in another field, or gone from the hub: nothing of it keeps a form from being sent.
  const [sentWith, setSentWith] = useState<object>(noErrors);
  const errors = refusals === sentWith ? noErrors : refusals;
  const names = Object.keys(errors);
  const isAtFields = names.length > 0 && names.every((name) => form.current?.elements.namedItem(name));
  return (
    <BaseForm
      ref={form}
      className={className}
      aria-label={label}
      errors={errors}
      onSubmitCapture={() => flushSync(() => setSentWith(refusals))}
      onFormSubmit={() => onSubmit()}
    >
      {children}
      {error && !isAtFields && <Failed error={error} />}
      {(act !== undefined || buttons !== undefined) && (
        <div className="decide-buttons">
          {act !== undefined && (
            <ActButton
              operation={operation}
              envs={envs}
              kind="primary"
              submit
              busy={by?.isPending}
              disabled={isOff}
            >
              {act}
            </ActButton>
          )}
          {buttons}
        </div>
      )}
    </BaseForm>
  );
}

/**
 * The values of a form, and a function that binds a field to one of them.
 * @returns the values, the binding (`sent`: the field's name in the hub's refusals), and a function that sets all of
 *   them
 */
export function useFields<V extends { readonly [name: string]: string }>(initial: V | (() => V)) {
  const [values, setValues] = useState<V>(initial);
  const bind = (name: keyof V & string, sent: string = name) => ({
    name: sent,
    value: values[name] as string,
    onValue: (value: string): void => setValues((before) => ({ ...before, [name]: value })),
  });
  return [values, bind, setValues] as const;
}

interface LabelProps {
  readonly label: string;
  /** Only screen readers get the label. */
  readonly compact?: boolean;
}

export interface FieldProps extends Omit<ComponentProps<'input'>, 'value' | 'onChange'>, LabelProps {
  /** Name of the field in the hub's refusals. */
  readonly name?: string;
  readonly value: string;
  readonly onValue: (value: string) => void;
  readonly help?: ReactNode;
  /** A mistake in the present value. The form cannot be sent with it. */
  readonly error?: string | undefined;
  /** Finds a mistake when the form is sent. */
  readonly validate?: (value: string) => string | null;
  /** The control, if it is not an `input` of one line. */
  readonly control?: ReactElement<Record<string, unknown>>;
}

/** The hub, the browser and the checks of a form quote the typed text: its hidden characters appear as signs. */
export const FieldError = (): JSX.Element => (
  <Base.Error
    className="field-error"
    render={({ children, ...rest }) => (
      <div {...rest}>{typeof children === 'string' ? visible(children) : children}</div>
    )}
  />
);

export function Field(props: FieldProps): JSX.Element {
  const { label, compact, name, onValue, help, error, validate, control, ...rest } = props;
  return (
    <Base.Root
      className="field"
      name={name}
      invalid={error !== undefined}
      validate={(value) => validate?.(String(value)) ?? null}
    >
      <Base.Label className={compact ? 'heard' : undefined}>{label}</Base.Label>
      <Base.Control {...rest} render={control} onValueChange={onValue} />
      {error === undefined ? (
        <FieldError />
      ) : (
        <Base.Error match className="field-error">
          {visible(error)}
        </Base.Error>
      )}
      {help && <Base.Description className="field-help">{help}</Base.Description>}
    </Base.Root>
  );
}

export interface SelectProps extends LabelProps {
  readonly name?: string;
  readonly value: string;
  /** A text is value and label in one. */
  readonly options: readonly (string | readonly [value: string, label: string])[];
  readonly onValue: (value: string) => void;
  readonly className?: string;
  /** Reason why the choice is off. */
  readonly cannot?: string | null;
}

/** A choice. The browser's own control: phones and assistive technology have their own ways to choose. */
export const Select = ({
  label,
  compact,
  name,
  value,
  options,
  onValue,
  className = '',
  cannot = null,
}: SelectProps): JSX.Element => (
  <Base.Root name={name} className={`field ${compact ? 'field-compact' : ''} ${className}`}>
    <Base.Label className={compact ? 'heard' : undefined}>{label}</Base.Label>
    <Base.Control
      value={value}
      onValueChange={onValue}
      render={
        <select disabled={cannot !== null} title={cannot ?? undefined}>
          {options
            .map((one) => (typeof one === 'string' ? ([one, one] as const) : one))
            .map(([key, text]) => (
              <option key={key} value={key}>
                {middleCut(visible(text), 120)}
              </option>
            ))}
        </select>
      }
    />
    <FieldError />
  </Base.Root>
);

/** A switch with its label at the right. */
export const Check = ({ children, ...box }: Omit<ComponentProps<'input'>, 'type'>): JSX.Element => (
  <label className="row">
    <input type="checkbox" {...box} /> {children}
  </label>
);

const zones = [
  ['local', 'Local time'],
  ['utc', 'UTC'],
] as const;

/** The time zone of all times in the console, stored for this person. */
export function ZoneSelect(): JSX.Element {
  const { utc } = usePrefs();
  return (
    <Select
      compact
      label="Time zone"
      value={utc ? 'utc' : 'local'}
      options={zones}
      onValue={(zone) => changePrefs({ utc: zone === 'utc' })}
    />
  );
}
