# SPDX-License-Identifier: Apache-2.0
"""One training run of a model of the papers: fp32 without TF32, SGD with momentum, random weights and inputs.

The first six are those of the EuroMLSys '25 paper; those from `vit` on, with `bert`, are those of G10 (MICRO '23); the last
four were chosen to be compared with measurements that nothing was fitted to.

Inputs are copied to the GPU inside every iteration. Iteration 0 contains warm-up, the others are settled.
"""

import torch

import recipe


def from_torchvision(name, **settings):
    import torchvision

    return getattr(torchvision.models, name)(weights=None, **settings)


def image_classifier(model, batch, pixels):
    images = torch.randn(batch, 3, pixels, pixels)
    labels = torch.randint(0, 1000, (batch,))
    criterion = torch.nn.CrossEntropyLoss()
    return model, [images, labels], lambda model, x, y: criterion(model(x), y)


def alexnet(batch):
    return image_classifier(from_torchvision("alexnet"), batch or 128, 496)


def resnet50(batch):
    return image_classifier(from_torchvision("resnet50"), batch or 32, 512)


def resnet101(batch):
    return image_classifier(from_torchvision("resnet101"), batch or 32, 512)


def gpt2(batch):
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(attn_implementation="eager")
    tokens = torch.randint(0, config.vocab_size, (batch or 8, 512))
    return GPT2LMHeadModel(config), [tokens], lambda model, ids: model(input_ids=ids, labels=ids).loss


def bert(batch):
    from transformers import BertConfig, BertForMaskedLM

    config = BertConfig(attn_implementation="eager")
    tokens = torch.randint(0, config.vocab_size, (batch or 16, 512))
    return BertForMaskedLM(config), [tokens], lambda model, ids: model(input_ids=ids, labels=ids).loss


def whisper(batch):
    from transformers import WhisperConfig, WhisperForConditionalGeneration

    config = WhisperConfig(
        vocab_size=51865,
        num_mel_bins=80,
        d_model=768,
        encoder_layers=12,
        decoder_layers=12,
        encoder_attention_heads=12,
        decoder_attention_heads=12,
        encoder_ffn_dim=3072,
        decoder_ffn_dim=3072,
        attn_implementation="sdpa",
    )
    features = torch.randn(batch or 8, 80, 3000)
    labels = torch.randint(0, config.vocab_size - 1, (batch or 8, 128))
    return (
        WhisperForConditionalGeneration(config),
        [features, labels],
        lambda model, x, y: model(input_features=x, labels=y).loss,
    )


def vit(batch):
    return image_classifier(from_torchvision("vit_b_16"), batch or 128, 224)


def inception_v3(batch):
    """Without the auxiliary classifier."""
    return image_classifier(from_torchvision("inception_v3", aux_logits=False, init_weights=False), batch or 128, 299)


def resnet152(batch):
    return image_classifier(from_torchvision("resnet152"), batch or 64, 224)


def senet154(batch):
    import senet

    return image_classifier(senet.senet154(), batch or 32, 224)


def at_224(name):
    """A model of torchvision, batch 32, 3x224x224."""
    return lambda batch: image_classifier(from_torchvision(name), batch or 32, 224)


MODELS = {
    f.__name__: f
    for f in (alexnet, resnet50, resnet101, gpt2, bert, whisper, vit, inception_v3, resnet152, senet154)
}
MODELS |= {name: at_224(name) for name in ("densenet121", "convnext_tiny", "swin_t", "efficientnet_b3")}


def main():
    parser = recipe.options(__doc__.splitlines()[0], iterations=3)
    parser.add_argument("model", choices=sorted(MODELS))
    parser.add_argument("--batch", type=int, default=0, help="0: what the README lists")
    parser.add_argument("--default-precision", action="store_true", help="TF32 as PyTorch ships it, not off")
    arguments = parser.parse_args()
    recipe.prepare(arguments.seed, arguments.default_precision)

    model, inputs, loss_of = MODELS[arguments.model](arguments.batch)
    model = model.train().cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)

    def iterate(_):
        on_gpu = [tensor.cuda() for tensor in inputs]
        optimizer.zero_grad()
        loss = loss_of(model, *on_gpu)
        loss.backward()
        optimizer.step()
        return loss.detach()

    recipe.run_iterations(arguments.iterations, iterate)


if __name__ == "__main__":
    main()
