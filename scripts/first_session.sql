CREATE TABLE account (
  id BIGINT PRIMARY KEY,
  owner TEXT NOT NULL,
  balance NUMERIC(12,2) NOT NULL DEFAULT 0
);
INSERT INTO account VALUES (1, 'Ada', 120.50), (2, 'Grace', 80.00), (3, 'Edsger', 0) RETURNING id, owner;
BEGIN;
UPDATE account SET balance = balance - 20 WHERE id = 1;
UPDATE account SET balance = balance + 20 WHERE id = 3;
COMMIT;
SELECT owner, balance FROM account ORDER BY balance DESC;
SELECT count(*) AS accounts, sum(balance) AS total FROM account;
