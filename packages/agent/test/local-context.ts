// The active OpenTelemetry context of asynchronous code.
import { AsyncLocalStorage } from 'node:async_hooks';
import { type Context, type ContextManager, ROOT_CONTEXT } from '@opentelemetry/api';

/** The work of `@opentelemetry/context-async-hooks`, in the few lines this needs. */
export class LocalContext implements ContextManager {
  readonly #store = new AsyncLocalStorage<Context>();
  active(): Context {
    return this.#store.getStore() ?? ROOT_CONTEXT;
  }
  with<A extends unknown[], F extends (...args: A) => ReturnType<F>>(
    within: Context,
    fn: F,
    self?: ThisParameterType<F>,
    ...args: A
  ): ReturnType<F> {
    return this.#store.run(within, () => fn.call(self as ThisParameterType<F>, ...args));
  }
  bind<T>(_within: Context, target: T): T {
    return target;
  }
  enable(): this {
    return this;
  }
  disable(): this {
    return this;
  }
}
