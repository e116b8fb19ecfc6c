# SPDX-License-Identifier: Apache-2.0
"""A second list of single PyTorch calls, for library_calls.py --list classes: kinds of kernels that the model predicted
wrongly or had not covered. Shapes were chosen before anything was measured.

A name is CLASS.SHAPE. The name alone determines whether a call may be looked at while the model is changed: see
dev().
"""
import hashlib


# Classes whose calls read only parts of an input.
PARTLY = ("embedding", "take_rows", "take", "gather", "tril", "every_second")


def dev(name):
    """Returns whether a call may be looked at: half of the names, by the last hex digit of their SHA-256 (even). The
    others are held out."""
    return int(hashlib.sha256(name.encode()).hexdigest()[-1], 16) % 2 == 0


def text(shape):
    return "x".join(str(length) for length in shape)


class Calls:
    """The list: methods yield name, inputs and the call. Calls read all of their inputs, except those of PARTLY."""

    def __init__(self, torch):
        self.torch = torch
        self.f = torch.nn.functional

    def tensor(self, *shape, dtype=None):
        return self.torch.randn(*shape, device="cuda").to(dtype or self.torch.float32)

    def all(self):
        for kind in (self.norms, self.pools, self.transforms, self.layouts, self.convolutions, self.rows, self.elements,
                     self.gathers, self.products, self.joins, self.grid_strides):
            yield from kind()

    def mobile(self):
        """Parts of networks with depthwise convolutions: EfficientNet-B3 on 32 images of 224 x 224, and other sizes."""
        aten = self.torch.ops.aten
        shapes = ((32, 40, 112, 3, 1), (32, 24, 112, 3, 1), (32, 144, 112, 3, 2), (32, 192, 56, 3, 1), (32, 192, 56, 5, 2),
                  (32, 288, 28, 5, 1), (32, 288, 28, 3, 2), (32, 576, 14, 3, 1), (32, 816, 14, 5, 1), (32, 1392, 7, 5, 1),
                  (8, 96, 112, 3, 1), (64, 240, 28, 5, 1))
        for images, channels, side, window, stride in shapes:
            x = self.tensor(images, channels, side, side)
            weight = self.tensor(channels, 1, window, window)
            shape = f"{text(x.shape)}_{window}_{stride}"
            stated = [[stride] * 2, [window // 2] * 2, [1, 1], False, [0, 0], channels]
            yield (f"depthwise.{shape}", [x, weight],
                   lambda x, w, stated=stated: aten.convolution(x, w, None, *stated))
            given = aten.convolution(x, weight, None, *stated)
            for what, mask in (("depthwise_input", [True, False, False]), ("depthwise_weight", [False, True, False])):
                yield (f"{what}.{shape}", [given, x, weight],
                       lambda g, x, w, stated=stated, mask=mask: aten.convolution_backward(g, x, w, None, *stated, mask))
            if stride == 1:
                share = self.tensor(images, channels, 1, 1)
                yield f"scale.{text(x.shape)}", [x, share], self.torch.mul
                yield f"silu.{text(x.shape)}", [x], self.f.silu
                yield f"silu_backward.{text(x.shape)}", [x, x], aten.silu_backward
                yield f"mean.{text(x.shape)}", [x], lambda x: x.mean((2, 3), keepdim=True)
                yield f"mean_backward.{text(x.shape)}", [share], lambda s, x=x: aten.div(s.expand(x.shape), 49.0)

    def norms(self):
        """Batch norm in training, as cuDNN computes it."""
        aten = self.torch.ops.aten
        shapes = ((4, 32, 112), (32, 64, 56), (8, 256, 28), (64, 128, 28), (32, 512, 14), (64, 1024, 14), (128, 512, 7),
                  (2, 64, 256), (16, 96, 35), (32, 192, 17), (16, 16, 224), (256, 64, 16), (1, 128, 256), (16, 288, 35),
                  (128, 96, 32), (48, 768, 17))
        for images, channels, side in shapes:
            x = self.tensor(images, channels, side, side)
            ones = self.torch.ones(channels, device="cuda")
            shape = text(x.shape)

            def forward(x, w, b):
                return aten.cudnn_batch_norm(x, w, b, None, None, True, 0.1, 1e-5)

            yield f"batchnorm_forward.{shape}", [x, ones, ones], forward
            _, mean, deviation, reserve = forward(x, ones, ones)
            inputs = [x, x, ones, mean, deviation, reserve]
            yield (f"batchnorm_backward.{shape}", inputs,
                   lambda x, g, w, m, v, r: aten.cudnn_batch_norm_backward(x, g, w, None, None, m, v, 1e-5, r))

    def pools(self):
        aten = self.torch.ops.aten
        shapes = ((8, 64, 112, 3, 2, 1), (32, 128, 28, 2, 2, 0), (64, 256, 14, 3, 1, 1), (4, 32, 256, 2, 2, 0),
                  (32, 192, 35, 3, 1, 1), (16, 288, 35, 3, 2, 0), (64, 64, 55, 3, 2, 0), (128, 96, 16, 2, 2, 0))
        for images, channels, side, window, stride, padding in shapes:
            x = self.tensor(images, channels, side, side)
            shape = f"{text(x.shape)}k{window}s{stride}p{padding}"
            geometry = ([window] * 2, [stride] * 2, [padding] * 2)
            yield (f"maxpool_forward.{shape}", [x],
                   lambda x, g=geometry: aten.max_pool2d_with_indices(x, *g))
            y, index = aten.max_pool2d_with_indices(x, *geometry)
            yield (f"maxpool_backward.{shape}", [y, index],
                   lambda y, i, x=x, g=geometry: aten.max_pool2d_with_indices_backward(y, x, *g, [1, 1], False, i))
            yield f"avgpool_forward.{shape}", [x], lambda x, g=geometry: aten.avg_pool2d(x, *g)
            yield (f"avgpool_backward.{shape}", [y],
                   lambda y, x=x, g=geometry: aten.avg_pool2d_backward(y, x, *g, False, True, None))

    def transforms(self):
        fft = self.torch.fft
        for shape in ((4096, 1024), (16384, 256), (512, 8192), (65536, 64), (64, 65536), (8192, 300)):
            x = self.tensor(*shape)
            c = self.torch.complex(x, x)
            yield f"fft.{text(shape)}", [c], fft.fft
            yield f"rfft.{text(shape)}", [x], fft.rfft
        for shape in ((256, 128, 128), (1024, 32, 32), (64, 256, 256)):
            x = self.tensor(*shape)
            yield f"fft2.{text(shape)}", [self.torch.complex(x, x)], fft.fft2

    def layouts(self):
        for shape in ((1024, 4096), (8192, 512), (256, 16384), (3000, 2000), (32768, 128)):
            yield f"transpose.{text(shape)}", [self.tensor(*shape)], lambda x: x.t().contiguous()
        orders = (((32, 128, 96, 16), (0, 2, 1, 3)), ((64, 256, 256), (2, 0, 1)), ((16, 512, 12, 64), (0, 2, 1, 3)),
                  ((128, 32, 32, 32), (3, 1, 2, 0)), ((8, 1024, 1024), (0, 2, 1)))
        for shape, order in orders:
            yield f"permute.{text(shape)}to{text(order)}", [self.tensor(*shape)], lambda x, o=order: x.permute(o).contiguous()
        last = self.torch.channels_last
        for shape in ((16, 64, 56, 56), (32, 256, 14, 14), (8, 128, 112, 112), (64, 3, 224, 224), (128, 512, 7, 7),
                      (4, 32, 256, 256)):
            x = self.tensor(*shape)
            yield f"to_nhwc.{text(shape)}", [x], lambda x: x.contiguous(memory_format=last)
            yield f"to_nchw.{text(shape)}", [x.contiguous(memory_format=last)], lambda x: x.contiguous()

    def convolutions(self):
        f = self.f
        backward = self.torch.ops.aten.convolution_backward
        shapes = ((8, 32, 112, 64, 3, 1), (32, 64, 56, 64, 3, 1), (32, 256, 14, 256, 3, 1), (16, 128, 28, 512, 1, 1),
                  (4, 16, 224, 32, 5, 1), (64, 512, 7, 512, 3, 1), (16, 64, 56, 256, 1, 1), (16, 3, 224, 64, 7, 2),
                  (32, 256, 28, 512, 1, 2), (64, 128, 16, 128, 3, 1), (2, 64, 256, 64, 3, 1), (32, 1024, 14, 256, 1, 1),
                  (16, 192, 35, 64, 5, 1), (16, 768, 17, 192, 1, 1))
        for images, channels, side, out, window, stride in shapes:
            x, w = self.tensor(images, channels, side, side), self.tensor(out, channels, window, window)
            padding = window // 2
            shape = f"{text(x.shape)}to{out}k{window}s{stride}"
            yield f"conv_forward.{shape}", [x, w], lambda x, w, s=stride, p=padding: f.conv2d(x, w, stride=s, padding=p)
            y = f.conv2d(x, w, stride=stride, padding=padding)
            for mask, what in (((True, False, False), "conv_dgrad"), ((False, True, False), "conv_wgrad")):
                read = x if mask[1] else w  # read in addition to the output's gradient; the other tensor is not touched

                def gradient(y, _, x=x, w=w, stride=stride, padding=padding, mask=mask):
                    return backward(y, x, w, None, [stride] * 2, [padding] * 2, [1, 1], False, [0, 0], 1, list(mask))

                yield f"{what}.{shape}", [y, read], gradient

    def rows(self):
        torch, f = self.torch, self.f
        for shape in ((32, 524288), (256, 32768), (65536, 64), (1048576, 8), (16384, 1000), (8, 1048576)):
            x = self.tensor(*shape)
            yield f"row_sum.{text(shape)}", [x], lambda x: x.sum(-1)
            yield f"row_max.{text(shape)}", [x], lambda x: x.max(-1)
        for shape in ((64, 262144), (4096, 4096), (131072, 64), (16384, 500)):
            yield f"column_sum.{text(shape)}", [self.tensor(*shape)], lambda x: x.sum(0)
        for shape in ((32, 256, 28, 28), (64, 512, 14, 14), (16, 64, 112, 112)):
            yield f"plane_mean.{text(shape)}", [self.tensor(*shape)], lambda x: x.mean((2, 3))
        for shape in ((65536, 128), (64, 65536), (16384, 1024), (2048, 4096), (128, 50257), (6144, 1500)):
            x = self.tensor(*shape)
            yield f"softmax.{text(shape)}", [x], lambda x: torch.softmax(x, -1)
            yield f"log_softmax.{text(shape)}", [x], lambda x: torch.log_softmax(x, -1)
            y = torch.softmax(x, -1)
            yield (f"softmax_backward.{text(shape)}", [x, y],
                   lambda g, y: torch.ops.aten._softmax_backward_data(g, y, -1, torch.float32))
        for shape in ((64, 65536), (65536, 64), (8192, 768), (2048, 4096), (32768, 256)):
            yield (f"layer_norm.{text(shape)}", [self.tensor(*shape)],
                   lambda x: torch.native_layer_norm(x, [x.shape[1]], None, None, 1e-5))
        for shape in ((4096, 4096), (65536, 128), (256, 65536)):
            yield f"cumsum.{text(shape)}", [self.tensor(*shape)], lambda x: torch.cumsum(x, -1)
        yield "cumsum_columns.4096x2048", [self.tensor(4096, 2048)], lambda x: torch.cumsum(x, 0)

    def elements(self):
        torch, f = self.torch, self.f
        m = 1 << 20
        for count in (2 * m, 8 * m, 16 * m):
            x = self.tensor(count)
            yield f"sigmoid.{count}", [x], torch.sigmoid
            yield f"compare.{count}", [x], lambda x: x > 0
            yield f"to_half.{count}", [x], lambda x: x.half()
            yield f"to_double.{count}", [x], lambda x: x.double()
            yield f"every_second.{count}", [x], lambda x: x[::2].contiguous()
        for shape in ((4096, 2048), (1000, 9000), (65536, 100)):
            x, column, row = self.tensor(*shape), self.tensor(shape[0], 1), self.tensor(shape[1])
            yield f"add_column.{text(shape)}", [x, column], torch.add
            yield f"add_row.{text(shape)}", [x, row], torch.add
            yield f"add_transposed.{text(shape)}", [x, self.tensor(shape[1], shape[0])], lambda x, y: x + y.t()
        x = self.tensor(16, 128, 56, 56)
        yield "add_channel.16x128x56x56", [x, self.tensor(1, 128, 1, 1)], torch.add
        yield "tanh_backward.8388608", [self.tensor(8 * m)] * 2, torch.ops.aten.tanh_backward
        yield "fill.16777216", [], lambda: torch.full((16 * m,), 2.0, device="cuda")
        yield "arange.4194304", [], lambda: torch.arange(4 * m, device="cuda")
        yield "tril.4096x4096", [self.tensor(4096, 4096)], torch.tril
        yield "half_add.16777216", [self.tensor(16 * m, dtype=torch.float16)] * 2, torch.add
        for shape, factor in (((16, 32, 56, 56), 2), ((8, 128, 28, 28), 3)):
            yield (f"bilinear.{text(shape)}by{factor}", [self.tensor(*shape)],
                   lambda x, k=factor: f.interpolate(x, scale_factor=k, mode="bilinear"))
            yield (f"nearest.{text(shape)}by{factor}", [self.tensor(*shape)],
                   lambda x, k=factor: f.interpolate(x, scale_factor=k))

    def gathers(self):
        torch, f = self.torch, self.f

        def index(rows, *shape):
            return torch.randint(0, rows, shape).cuda()

        for rows, width, count in ((50000, 768, 4096), (100000, 64, 65536), (8192, 2048, 4096), (1000000, 16, 262144)):
            name = f"{count}of{rows}x{width}"
            yield f"embedding.{name}", [self.tensor(rows, width), index(rows, count)], lambda t, i: f.embedding(i, t)
            yield f"take_rows.{name}", [self.tensor(rows, width), index(rows, count)], lambda t, i: t[i]
        yield "gather.4096x2048", [self.tensor(4096, 2048), index(2048, 4096, 2048)], lambda t, i: torch.gather(t, 1, i)
        yield "gather.65536x64", [self.tensor(65536, 64), index(64, 65536, 64)], lambda t, i: torch.gather(t, 1, i)
        yield "take.8388608", [self.tensor(1 << 20), index(1 << 20, 8 << 20)], torch.take

    def products(self):
        torch = self.torch
        for rows, inner, columns in ((1024, 1024, 1024), (3000, 1000, 500), (256, 8192, 1024), (16384, 64, 256),
                                     (128, 1024, 32768), (32, 4096, 16384), (4096, 1024, 4096), (8192, 256, 2048)):
            a, b = self.tensor(rows, inner), self.tensor(inner, columns)
            shape = f"{rows}x{inner}x{columns}"
            yield f"mm_nn.{shape}", [a, b], torch.mm
            yield f"mm_nt.{shape}", [a, self.tensor(columns, inner)], lambda a, b: a @ b.t()
            yield f"mm_tn.{shape}", [self.tensor(inner, rows), b], lambda a, b: a.t() @ b
        for rows, inner, columns in ((4096, 1024, 4096), (8192, 768, 3072)):
            a, b = self.tensor(rows, inner, dtype=torch.bfloat16), self.tensor(inner, columns, dtype=torch.bfloat16)
            yield f"mm_bf16.{rows}x{inner}x{columns}", [a, b], torch.mm
        for batch, rows, inner, columns in ((16, 1024, 64, 1024), (192, 128, 64, 128), (8, 512, 512, 512),
                                            (256, 64, 49, 64), (32, 1024, 1024, 64), (128, 197, 64, 197)):
            yield (f"bmm.{batch}x{rows}x{inner}x{columns}",
                   [self.tensor(batch, rows, inner), self.tensor(batch, inner, columns)], torch.bmm)
            yield (f"bmm_nt.{batch}x{rows}x{inner}x{columns}",
                   [self.tensor(batch, rows, inner), self.tensor(batch, columns, inner)],
                   lambda a, b: torch.bmm(a, b.transpose(1, 2)))

    def joins(self):
        torch, f = self.torch, self.f
        x = self.tensor(2048, 1024)
        yield "cat_rows.2of2048x1024", [x, x], lambda a, b: torch.cat([a, b], 0)
        yield "cat_columns.4of2048x1024", [x] * 4, lambda *parts: torch.cat(parts, 1)
        yield "cat_channels.3of16x64x56x56", [self.tensor(16, 64, 56, 56)] * 3, lambda *parts: torch.cat(parts, 1)
        yield "stack.4of2048x1024", [x] * 4, lambda *parts: torch.stack(parts, 1)
        yield "repeat.512x1024by8", [self.tensor(512, 1024)], lambda x: x.repeat(8, 1)
        yield "expand.4096x1by2048", [self.tensor(4096, 1)], lambda x: x.expand(-1, 2048).contiguous()
        yield "roll.4096x2048", [self.tensor(4096, 2048)], lambda x: torch.roll(x, (100, 300), (0, 1))
        yield "flip.4096x2048", [self.tensor(4096, 2048)], lambda x: torch.flip(x, (0,))
        yield "reflect_pad.16x64x112x112", [self.tensor(16, 64, 112, 112)], lambda x: f.pad(x, (2, 2, 2, 2), mode="reflect")

    def grid_strides(self):
        torch = self.torch
        for count in (1 << 20, 4 << 20, 16 << 20):
            yield f"uniform.{count}", [], lambda n=count: torch.rand(n, device="cuda")
            yield f"normal.{count}", [], lambda n=count: torch.randn(n, device="cuda")
            yield f"dropout.{count}", [self.tensor(count)], lambda x: torch.native_dropout(x, 0.1, True)
        yield "uniform_double.4194304", [], lambda: torch.rand(4 << 20, device="cuda", dtype=torch.float64)


def calls(torch):
    """Yields name, inputs and the call."""
    yield from Calls(torch).all()


def mobile_calls(torch):
    """Yields name, inputs and the call."""
    yield from Calls(torch).mobile()
