// Drives every method of the provider's Node library against a sandbox and prints, as JSON, what came of each:
// node drive.cjs ADDRESS KEY_FILE GIVEN, with the library's folder in NODE_PATH.
'use strict';

const [address, keyFile, given] = [process.argv[2], process.argv[3], JSON.parse(process.argv[4])];
require('fintoc/build/main/lib/constants').API_BASE_URL = address;
const { Fintoc } = require('fintoc');

console.warn = () => {}; // deprecations
const client = new Fintoc('sk_test_sandbox', keyFile);
const outcomes = {};
const found = {};
const money = { amount: 1500, currency: given.currency };

const post = (path, body) => fetch(address + path, { method: 'POST', body: JSON.stringify(body) });
const advance = (seconds) => post('/_sandbox/clock/advance', { seconds });
const toSnake = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

// Make one call. It works if what comes back is what was asked for; a list must hold something.
async function attempt(name, call) {
  try {
    let answer = await call();
    if (answer && answer[Symbol.asyncIterator]) {
      const rows = [];
      for await (const row of answer) rows.push(row);
      answer = rows;
    }
    outcomes[name] = Array.isArray(answer) && answer.length === 0 ? 'holds nothing' : 'works';
    found[name] = answer;
  } catch (error) {
    outcomes[name] = `${error.constructor.name}: ${String(error.message).split(/\s+/).join(' ').slice(0, 160)}`;
  }
}

async function driveLinks() {
  const of = { link_token: given.link };
  await attempt('links.list', () => client.links.list());
  await attempt('links.get', () => client.links.get(given.link));
  await attempt('links.update', () => client.links.update(given.link, { active: true }));
  await attempt('link.update', () => found['links.get'].update({ active: true }));
  await attempt('accounts.list', () => client.accounts.list(of));
  const { id } = found['accounts.list'][0];
  await attempt('accounts.get', () => client.accounts.get(id, of));
  const { movements } = client.accounts;
  await attempt('accounts.movements.list', () => movements.list({ account_id: id, ...of, per_page: 7 }));
  const movement = found['accounts.movements.list'][0].id;
  await attempt('accounts.movements.get', () => movements.get(movement, { account_id: id, ...of }));
  await attempt('refresh_intents.create', () => client.refreshIntents.create(of));
  await attempt('refresh_intents.list', () => client.refreshIntents.list(of));
  await attempt('refresh_intents.get', () => client.refreshIntents.get(found['refresh_intents.list'][0].id, of));
  await advance(3600);
  await attempt('invoices.list', () => client.invoices.list(of));
  await attempt('tax_returns.list', () => client.taxReturns.list(of));
  await attempt('tax_returns.get', () => client.taxReturns.get(found['tax_returns.list'][0].id, of));
  await driveOneLink(await client.links.get(given.link));
}

// What is read through the object of a link, with the token it was got by.
async function driveOneLink(link) {
  await attempt('link.accounts.list', () => link.accounts.list());
  const account = found['link.accounts.list'][0];
  await attempt('link.accounts.get', () => link.accounts.get(account.id));
  await attempt('account.movements.list', () => account.movements.list());
  await attempt('account.movements.get', () => account.movements.get(found['account.movements.list'][0].id));
  await attempt('link.subscriptions.list', () => link.subscriptions.list());
  await attempt('link.subscriptions.get', () => link.subscriptions.get(found['link.subscriptions.list'][0].id));
  await attempt('link.tax_returns.list', () => link.taxReturns.list());
  await attempt('link.tax_returns.get', () => link.taxReturns.get(found['link.tax_returns.list'][0].id));
  await attempt('link.invoices.list', () => link.invoices.list());
  await attempt('link.refresh_intents.create', () => link.refreshIntents.create());
  await attempt('link.refresh_intents.list', () => link.refreshIntents.list());
  await attempt('link.refresh_intents.get', () => link.refreshIntents.get(found['refresh_intents.list'][0].id));
}

async function drivePayments() {
  const { paymentIntents: intents, paymentLinks: links, refunds } = client;
  const ask = { ...money, recipient_account: given.recipient };
  await attempt('payment_intents.list', () => intents.list({ per_page: 60 }));
  await attempt('payment_intents.create', () => intents.create(ask));
  const { id } = found['payment_intents.create'];
  await attempt('payment_intents.get', () => intents.get(id));
  await attempt('payment_intents.expire', () => intents.expire(id));
  const sender = { institution_id: 'cl_banco_de_chile', holder_id: '111111111' };
  const eligibility = { ...money, sender_account: sender };
  await attempt('payment_intents.check_eligibility', () => intents.checkEligibility(eligibility));
  await attempt('payment_links.create', () => links.create(ask));
  await attempt('payment_links.list', () => links.list());
  await attempt('payment_links.get', () => links.get(found['payment_links.create'].id));
  await attempt('payment_links.cancel', () => links.cancel(found['payment_links.create'].id));
  const paid = found['payment_intents.list'].find((row) => row.status === 'succeeded').id;
  const refund = { resource_type: 'payment_intent', resource_id: paid, amount: 1 };
  await attempt('refunds.create', () => refunds.create(refund));
  await attempt('refunds.list', () => refunds.list());
  await attempt('refunds.get', () => refunds.get(found['refunds.create'].id));
  await attempt('refunds.cancel', () => refunds.cancel(found['refunds.create'].id));
  const pages = { success_url: 'https://shop.example/', cancel_url: 'https://shop.example/' };
  for (const [prefix, sessions] of [['', client.checkoutSessions], ['v2.', client.v2.checkoutSessions]]) {
    await attempt(`${prefix}checkout_sessions.create`, () => sessions.create({ ...money, ...pages }));
    const session = found[`${prefix}checkout_sessions.create`].id;
    await attempt(`${prefix}checkout_sessions.get`, () => sessions.get(session));
    await attempt(`${prefix}checkout_sessions.expire`, () => sessions.expire(session));
  }
  await attempt('v2.checkout_sessions.list', () => client.v2.checkoutSessions.list({ limit: 9 }));
}

async function driveDirectDebit() {
  const { subscriptionIntents: intents, subscriptions, charges } = client;
  await attempt('subscription_intents.create', () => intents.create({}));
  await attempt('subscription_intents.get', () => intents.get(found['subscription_intents.create'].id));
  await attempt('subscription_intents.list', () => intents.list());
  await advance(60);
  await attempt('subscriptions.list', () => subscriptions.list());
  const { id } = found['subscriptions.list'][0];
  await attempt('subscriptions.get', () => subscriptions.get(id));
  await attempt('charges.create', () => charges.create({ ...money, subscription_id: id }));
  await attempt('charges.list', () => charges.list());
  await attempt('charges.get', () => charges.get(found['charges.create'].id));
}

async function driveEndpoints() {
  const { webhookEndpoints: endpoints } = client;
  const ask = { url: 'https://shop.example/webhooks', enabled_events: ['payout.created'] };
  await attempt('webhook_endpoints.create', () => endpoints.create(ask));
  const { id } = found['webhook_endpoints.create'];
  await attempt('webhook_endpoints.list', () => endpoints.list());
  await attempt('webhook_endpoints.get', () => endpoints.get(id));
  await attempt('webhook_endpoints.update', () => endpoints.update(id, { name: 'Shop' }));
  await attempt('webhook_endpoint.update', () => found['webhook_endpoints.get'].update({ name: 'Store' }));
  await attempt('webhook_endpoint.delete', async () => (await endpoints.create(ask)).delete());
  await attempt('webhook_endpoints.delete', () => endpoints.delete(id));
}

async function driveAccounts() {
  const { entities, accounts, accountNumbers: numbers } = client.v2;
  await attempt('v2.entities.list', () => entities.list());
  const entity = found['v2.entities.list'].find((row) => row.status === 'operational').id;
  await attempt('v2.entities.get', () => entities.get(entity));
  await attempt('v2.accounts.create', () => accounts.create({ entity_id: entity, description: 'Main' }));
  const { id } = found['v2.accounts.create'];
  await attempt('v2.accounts.list', () => accounts.list());
  await attempt('v2.accounts.get', () => accounts.get(id));
  await attempt('v2.accounts.update', () => accounts.update(id, { description: 'Second' }));
  await attempt('v2.account.update', () => found['v2.accounts.get'].update({ description: 'Third' }));
  const used = { account_id: given.account };
  await attempt('v2.accounts.movements.list', () => accounts.movements.list({ ...used, limit: 20 }));
  const movement = found['v2.accounts.movements.list'][0].id;
  await attempt('v2.accounts.movements.get', () => accounts.movements.get(movement, used));
  await attempt('v2.account_numbers.create', () => numbers.create({ account_id: id, description: 'Rent' }));
  const number = found['v2.account_numbers.create'].id;
  await attempt('v2.account_numbers.list', () => numbers.list());
  await attempt('v2.account_numbers.get', () => numbers.get(number));
  await attempt('v2.account_numbers.update', () => numbers.update(number, { description: 'Dues' }));
  await attempt('v2.account_number.update', () => found['v2.account_numbers.get'].update({ description: 'Fees' }));
}

async function driveTransfers() {
  const { simulate, transfers, accountVerifications: verifications } = client.v2;
  const account = found['v2.accounts.create'];
  const arriving = { amount: 900, currency: given.currency.toLowerCase(), account_number_id: account.root_account_number_id };
  await attempt('v2.simulate.receive_transfer', () => simulate.receiveTransfer(arriving));
  const order = { account_id: account.id, amount: 100, currency: given.currency, counterparty: given.counterparty };
  await attempt('v2.transfers.create', () => transfers.create(order));
  await attempt('v2.transfers.list', () => transfers.list({ limit: 20 }));
  await attempt('v2.transfers.get', () => transfers.get(found['v2.transfers.create'].id));
  const received = { transfer_id: found['v2.simulate.receive_transfer'].id };
  await attempt('v2.transfers.return', () => transfers.return(received));
  await attempt('v2.account_verifications.create', () => verifications.create({ account_number: '735969000000203226' }));
  await attempt('v2.account_verifications.list', () => verifications.list());
  const verified = found['v2.account_verifications.list'][0].id;
  await attempt('v2.account_verifications.get', () => verifications.get(verified));
}

async function driveBilling() {
  const { customers, paymentMethods: methods, paymentIntents: intents, subscriptions, invoices } = client.v2;
  await attempt('v2.customers.create', () => customers.create({ email: 'Ana@Example.com' }));
  await attempt('v2.customers.list', () => customers.list());
  await attempt('v2.customers.get', () => customers.get(found['v2.customers.create'].id));
  await attempt('v2.payment_methods.list', () => methods.list());
  await attempt('v2.payment_methods.get', () => methods.get(given.payment_method));
  const charge = { amount: 100, currency: given.currency, payment_method: given.payment_method };
  await attempt('v2.payment_intents.create', () => intents.create(charge));
  await attempt('v2.payment_intents.list', () => intents.list());
  await attempt('v2.payment_intents.get', () => intents.get(found['v2.payment_intents.create'].id));
  await attempt('v2.subscriptions.list', () => subscriptions.list());
  await attempt('v2.subscriptions.get', () => subscriptions.get(given.subscription));
  await attempt('v2.subscriptions.cancel', () => subscriptions.cancel(given.subscription));
  await attempt('v2.invoices.list', () => invoices.list());
  await attempt('v2.invoices.get', () => invoices.get(given.invoice));
}

// Once through the object and, after the trade has begun anew, once through its manager.
async function dropLink() {
  await attempt('link.delete', async () => (await client.links.get(given.link)).delete());
  await post('/_sandbox/scenario', { name: given.scenario, scale: 0.1 });
  await attempt('links.delete', () => client.links.delete(given.link));
}

// Every method of the managers of an object, and of the managers within them.
function offeredBy(holder, path = '') {
  return Object.entries(holder).flatMap(([name, value]) => {
    if (name === 'v2') return offeredBy(value, 'v2.');
    const { methods } = (value && value.constructor) || {};
    if (!Array.isArray(methods)) return [];
    const here = `${path}${toSnake(name)}`;
    return [...methods.map((method) => `${here}.${toSnake(method)}`), ...offeredBy(value, `${here}.`)];
  });
}

async function drive() {
  await driveLinks();
  await drivePayments();
  await driveDirectDebit();
  await driveEndpoints();
  await driveAccounts();
  await driveTransfers();
  await driveBilling();
  await dropLink();
  console.log(JSON.stringify({ outcomes, offered: offeredBy(client).sort() }));
}

drive();
