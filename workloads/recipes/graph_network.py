# SPDX-License-Identifier: Apache-2.0
"""A graph network (GraphSAGE, two layers) trained on sampled neighbours; the features of all nodes are one large table.

The graph is random with many edges at few nodes. Every iteration draws nodes, samples their neighbours and their
neighbours' neighbours on the GPU, and gathers the features of all of them: rows from all over the table.
"""

import torch
from torch import nn
from torch.nn import functional

import recipe


def random_graph(nodes, edges):
    """Neighbours of node i: neighbours[begin[i]:begin[i + 1]]."""
    degree = torch.rand(nodes, device="cuda").pow(-0.5)  # a power law
    degree = (degree * (edges / degree.sum())).long() + 1
    begin = torch.zeros(nodes + 1, dtype=torch.long, device="cuda")
    torch.cumsum(degree, 0, out=begin[1:])
    count = int(begin[-1])
    neighbours = (torch.rand(count, device="cuda").square() * nodes).long().clamp_(max=nodes - 1)
    return begin, neighbours


class Layer(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.own = nn.Linear(inputs, outputs)
        self.others = nn.Linear(inputs, outputs, bias=False)

    def forward(self, own, others):
        """others: (nodes, neighbours of each, width)."""
        return self.own(own) + self.others(others.mean(dim=1))


def main():
    parser = recipe.options(__doc__.splitlines()[0], iterations=4)
    parser.add_argument("--nodes", type=int, default=4_000_000)
    parser.add_argument("--edges", type=int, default=40_000_000)
    parser.add_argument("--features", type=int, default=256, help="fp32, of each node")
    parser.add_argument("--batch", type=int, default=256, help="nodes whose class is learned at once")
    arguments = parser.parse_args()
    recipe.prepare(arguments.seed)
    fanouts, classes, width = (10, 5), 47, 256
    begin, neighbours = random_graph(arguments.nodes, arguments.edges)
    features = torch.randn(arguments.nodes, arguments.features, device="cuda")
    labels = torch.randint(0, classes, (arguments.nodes,), device="cuda")
    layers = nn.ModuleList([Layer(arguments.features, width), Layer(width, classes)]).cuda()
    optimizer = torch.optim.Adam(layers.parameters(), lr=1e-3)

    def sample(of, count):
        first, degree = begin[of], begin[of + 1] - begin[of]
        chosen = (torch.rand(*of.shape, count, device="cuda") * degree[..., None]).long()
        return neighbours[first[..., None] + chosen]

    def iterate(_):
        seeds = torch.randint(0, arguments.nodes, (arguments.batch,), device="cuda")
        near = sample(seeds, fanouts[0])
        far = sample(near, fanouts[1])
        optimizer.zero_grad()
        hidden_near = functional.relu(layers[0](features[near.flatten()], features[far.flatten(0, 1)]))
        hidden_seeds = functional.relu(layers[0](features[seeds], features[near]))
        logits = layers[1](hidden_seeds, hidden_near.view(*near.shape, -1))
        loss = functional.cross_entropy(logits, labels[seeds])
        loss.backward()
        optimizer.step()
        return loss.detach()

    recipe.run_iterations(arguments.iterations, iterate)


if __name__ == "__main__":
    main()
