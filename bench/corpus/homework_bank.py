"""Homework on classes: accounts, inheritance, an exception of one's own, and a mistake that half happened."""


# %%
class Overdrawn(Exception):
    def __init__(self, account, missing):
        super().__init__(f"{missing} missing")
        self.account, self.missing = account, missing


class Account:
    all = []

    def __init__(self, owner, balance=0):
        self.owner, self.balance, self.log = owner, balance, []
        Account.all.append(self)

    def withdraw(self, amount):
        if amount > self.balance:
            raise Overdrawn(self, amount - self.balance)
        self.balance -= amount
        self.log.append(-amount)

    def deposit(self, amount):
        self.balance += amount
        self.log.append(amount)


class Savings(Account):
    rate = 0.02

    def year(self):
        self.deposit(round(self.balance * self.rate, 2))


# %%
ann, bob = Account("Ann", 100), Savings("Bob", 1000)
bank = {account.owner: account for account in Account.all}


# %% raises Overdrawn
def transfer(source, target, amount):
    target.deposit(amount)
    source.withdraw(amount)


transfer(ann, bob, 500)

# %%
bob.balance, ann.balance

# %%
bob.withdraw(500)


def transfer(source, target, amount):
    source.withdraw(amount)
    target.deposit(amount)


# %%
caught = None
try:
    transfer(ann, bob, 500)
except Overdrawn as error:
    caught = error.missing, error.account
caught[0], caught[1] is bank["Ann"]

# %%
bob.year()
Savings.rate = 0.03
bob.year()
[(account.owner, account.balance) for account in Account.all]
