// The server the library's authors publish, reduced to its one route: 400 where the library throws.
// Arguments: MODULES DATABASE_URL PORT SECRET. The CommonJS build: the ESM one fails in its migrations.
const { createRequire } = require("node:module");
const http = require("node:http");

const [modules, databaseUrl, port, secret] = process.argv.slice(2);
const from = createRequire(modules + "/");
const { StripeSync, runMigrations } = from("@supabase/stripe-sync-engine");

(async () => {
  const logger = { info() {}, error: (...problem) => console.error(...problem) };
  await runMigrations({ databaseUrl, schema: "stripe", logger });
  const sync = new StripeSync({
    schema: "stripe",
    stripeSecretKey: "sk_test_" + "0".repeat(24),
    stripeWebhookSecret: secret,
    backfillRelatedEntities: false,
    poolConfig: { connectionString: databaseUrl, max: 16 },
  });
  http
    .createServer((request, response) => {
      const pieces = [];
      request.on("data", (piece) => pieces.push(piece));
      request.on("end", async () => {
        try {
          await sync.processWebhook(Buffer.concat(pieces), request.headers["stripe-signature"]);
          response.writeHead(200, { "content-type": "application/json" }).end('{"received":true}');
        } catch (problem) {
          response.writeHead(400).end(String(problem));
        }
      });
    })
    .listen(Number(port), "127.0.0.1", () => console.log("listening"));
})();
