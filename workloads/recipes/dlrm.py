# SPDX-License-Identifier: Apache-2.0
"""Training of a recommendation model (DLRM): bags of embeddings by Zipf-distributed rows, dot interaction, two MLPs.

Embedding gradients are sparse: an iteration touches only the rows that its bags name.
"""

import torch

import recipe


def perceptron(sizes):
    layers = []
    for inputs, outputs in zip(sizes, sizes[1:]):
        layers += [torch.nn.Linear(inputs, outputs), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1])


class Dlrm(torch.nn.Module):
    def __init__(self, tables, rows, width, dense_features):
        super().__init__()
        self.bottom = perceptron([dense_features, 512, 256, width])
        self.tables = torch.nn.ModuleList(
            torch.nn.EmbeddingBag(rows, width, mode="sum", sparse=True) for _ in range(tables)
        )
        for table in self.tables:
            torch.nn.init.uniform_(table.weight, -(rows**-0.5), rows**-0.5)
        pairs = (tables + 1) * tables // 2
        self.top = perceptron([width + pairs, 512, 256, 1])
        self.register_buffer("pair_index", torch.tril_indices(tables + 1, tables + 1, -1), persistent=False)

    def forward(self, dense, bags):
        bottom = self.bottom(dense)
        features = [bottom] + [table(bag) for table, bag in zip(self.tables, bags)]
        stacked = torch.stack(features, dim=1)
        products = torch.bmm(stacked, stacked.transpose(1, 2))
        flat = products[:, self.pair_index[0], self.pair_index[1]]
        return self.top(torch.cat([bottom, flat], dim=1)).squeeze(1)


class ZipfRows:
    """Draws row numbers of one table: popularity falls with rank^-exponent, popular rows are scattered over it."""

    def __init__(self, rows, exponent, generator):
        self.cumulative = torch.arange(1, rows + 1, dtype=torch.float64).pow(-exponent).cumsum(0)
        self.row_of_rank = torch.randperm(rows, generator=generator)
        self.generator = generator

    def draw(self, *shape):
        draws = torch.rand(shape, dtype=torch.float64, generator=self.generator) * self.cumulative[-1]
        ranks = torch.searchsorted(self.cumulative, draws).clamp_(max=len(self.cumulative) - 1)
        return self.row_of_rank[ranks]


def main():
    parser = recipe.options(__doc__.splitlines()[0], iterations=3)
    parser.add_argument("--tables", type=int, default=8)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--bag", type=int, default=8, help="rows per bag")
    parser.add_argument("--zipf", type=float, default=1.05, help="exponent of the rows' popularity")
    arguments = parser.parse_args()
    recipe.prepare(arguments.seed)

    dense_features = 13
    with torch.device("cuda"):
        model = Dlrm(arguments.tables, arguments.rows, arguments.width, dense_features)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    criterion = torch.nn.BCEWithLogitsLoss()
    generator = torch.Generator().manual_seed(arguments.seed)
    rows_of = [ZipfRows(arguments.rows, arguments.zipf, generator) for _ in range(arguments.tables)]
    batches = []
    for _ in range(arguments.iterations):
        dense = torch.rand(arguments.batch, dense_features, generator=generator)
        bags = torch.stack([rows.draw(arguments.batch, arguments.bag) for rows in rows_of])
        clicks = torch.randint(0, 2, (arguments.batch,), generator=generator).float()
        batches.append((dense, bags, clicks))

    def iterate(index):
        dense, bags, clicks = (tensor.cuda() for tensor in batches[index])
        optimizer.zero_grad()
        loss = criterion(model(dense, bags), clicks)
        loss.backward()
        optimizer.step()
        return loss.detach()

    recipe.run_iterations(arguments.iterations, iterate)


if __name__ == "__main__":
    main()
